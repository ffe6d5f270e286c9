import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fairAgenda } from "./fair-agenda.ts";

const ownerOf = (candidate: string): string => candidate[0] ?? "";

describe("fairAgenda", () => {
  it("lets owners take turns, the owner with the fewest first", () => {
    const candidates = ["a1", "a2", "a3", "a4", "b1", "c1", "c2"];
    expect(fairAgenda(candidates, ownerOf, new Map(), { all: 5, each: 3 })).toEqual(["a1", "b1", "c1", "a2", "c2"]);
    const taken = new Map([
      ["a", 2],
      ["gone", 1],
    ]);
    expect(fairAgenda(candidates, ownerOf, taken, { all: 6, each: 3 })).toEqual(["b1", "c1", "c2"]);
    expect(fairAgenda(candidates, ownerOf, taken, { all: 3, each: 3 })).toEqual([]);
  });

  it("never exceeds a limit, and is max-min fair in turns", () => {
    const owners = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 60 });
    fc.assert(
      fc.property(owners, fc.nat(40), fc.integer({ min: 1, max: 10 }), (names, all, each) => {
        const candidates = names.map((name, index) => `${name}${index}`);
        const chosen = fairAgenda(candidates, ownerOf, new Map(), { all, each });
        const counts = new Map<string, number>();
        for (const one of chosen) counts.set(ownerOf(one), (counts.get(ownerOf(one)) ?? 0) + 1);
        expect(chosen.length).toBeLessThanOrEqual(all);
        expect(Math.max(0, ...counts.values())).toBeLessThanOrEqual(each);
        const most = Math.max(0, ...counts.values());
        for (const name of new Set(names)) {
          const had = counts.get(name) ?? 0;
          const wanted = Math.min(each, names.filter((one) => one === name).length);
          expect(had >= Math.min(wanted, most - 1)).toBe(true);
        }
      }),
    );
  });
});
