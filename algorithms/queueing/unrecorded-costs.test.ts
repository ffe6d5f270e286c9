import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createUnrecorded } from "./unrecorded-costs.ts";

const always = { first: 0, next: 10 };
const at = (cost: number, day = 1) => ({ day, cost });

describe("costs that are not recorded yet", () => {
  it("count until the table has their partition's offset, each in its day", () => {
    const costs = createUnrecorded();
    costs.add(0, 5, at(1));
    costs.add(0, 9, at(2, 2));
    costs.add(1, 3, at(4));
    expect(costs.costIn(always)).toBe(7);
    expect(costs.costIn({ first: 1, next: 2 })).toBe(5);
    costs.recorded(0, 4);
    expect(costs.costIn(always)).toBe(7);
    costs.recorded(0, 8);
    expect(costs.costIn(always)).toBe(6);
    costs.recorded(1, 3);
    costs.recorded(0, 9);
    expect([costs.costIn(always), costs.size()]).toEqual([0, 0]);
  });

  it("count once however often they are added, and not if the table has them already", () => {
    const costs = createUnrecorded();
    for (let i = 0; i < 3; i++) costs.add(0, 5, at(1));
    expect(costs.costIn(always)).toBe(1);
    costs.recorded(0, 7);
    for (const offset of [5, 7]) costs.add(0, offset, at(1));
    expect(costs.costIn(always)).toBe(0);
    costs.add(0, 8, at(1));
    costs.add(1, 6, at(1));
    expect(costs.costIn(always)).toBe(2);
  });

  it("are bounded: they never count less than what is open, nor longer than until all is recorded", () => {
    const step = fc.record({ skip: fc.integer({ min: 1, max: 3 }), cost: fc.nat(9) });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 1_000 }), fc.nat(3_000), (steps, upTo) => {
        const costs = createUnrecorded();
        let [offset, open, all] = [0, 0, 0];
        for (const { skip, cost } of steps) {
          costs.add(0, (offset += skip), at(cost));
          all += cost;
          if (offset > upTo) open += cost;
          expect(costs.size()).toBeLessThanOrEqual(64);
        }
        expect(costs.costIn(always)).toBe(all);
        costs.recorded(0, upTo);
        expect(costs.costIn(always)).toBeGreaterThanOrEqual(open);
        if (steps.length <= 64) expect(costs.costIn(always)).toBe(open);
        costs.recorded(0, offset);
        expect(costs.costIn(always)).toBe(0);
      }),
    );
  });
});
