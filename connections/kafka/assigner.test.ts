import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assignIndexes, type AssignableMember } from "./assigner.ts";

const member = (instance: string, owned: readonly number[] = []): AssignableMember => ({
  memberId: `member-of-${instance}`,
  instance,
  owned,
});
const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 12 });
const partitions = fc.integer({ min: 0, max: 64 });
const holding = (shares: ReadonlyMap<string, number[]>, instances: readonly string[]): AssignableMember[] =>
  instances.map((instance) => member(instance, shares.get(`member-of-${instance}`) ?? []));
const fresh = (instances: readonly string[], count: number): Map<string, number[]> =>
  assignIndexes(holding(new Map(), instances), count);

describe("assignment", () => {
  test("gives every index to exactly one member, balanced within one, whatever the members claim", () => {
    const claims = fc.array(fc.integer({ min: -2, max: 70 }), { maxLength: 40 });
    fc.assert(
      fc.property(names, partitions, fc.array(claims, { minLength: 12, maxLength: 12 }), (instances, count, owned) => {
        const shares = assignIndexes(
          instances.map((instance, i) => member(instance, owned[i])),
          count,
        );
        const all = [...shares.values()].flat().sort((a, b) => a - b);
        expect(all).toEqual(Array.from({ length: count }, (_, index) => index));
        const sizes = [...shares.values()].map((share) => share.length);
        expect(sizes).toHaveLength(instances.length);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      }),
    );
  });

  test("does not depend on the order in which the members are listed", () => {
    fc.assert(
      fc.property(names, partitions, (instances, count) => {
        const before = holding(fresh(instances, count), instances);
        expect(assignIndexes([...before].reverse(), count)).toEqual(assignIndexes(before, count));
      }),
    );
  });

  test("moves nothing when nothing has changed", () => {
    fc.assert(
      fc.property(names, partitions, (instances, count) => {
        const shares = fresh(instances, count);
        expect(assignIndexes(holding(shares, instances), count)).toEqual(shares);
      }),
    );
  });

  test("a member that joins takes from the others, who take nothing from each other", () => {
    fc.assert(
      fc.property(names, partitions, (instances, count) => {
        const before = fresh(instances, count);
        const after = assignIndexes([...holding(before, instances), member("the new one")], count);
        for (const [id, share] of before) expect(share).toEqual(expect.arrayContaining(after.get(id) ?? []));
      }),
    );
  });

  test("when a member leaves the others keep what they hold", () => {
    fc.assert(
      fc.property(names, partitions, (instances, count) => {
        fc.pre(instances.length > 1);
        const before = fresh(instances, count);
        const [, ...left] = instances;
        const after = assignIndexes(holding(before, left), count);
        for (const instance of left) {
          const id = `member-of-${instance}`;
          expect(after.get(id)).toEqual(expect.arrayContaining(before.get(id) ?? []));
        }
      }),
    );
  });

  test("a restarted process gets back what its instance held before, as the others hold the rest", () => {
    const before = fresh(["a", "b", "c"], 8);
    const after = assignIndexes([...holding(before, ["a", "c"]), { memberId: "b again", instance: "b", owned: [] }], 8);
    expect(after.get("b again")).toEqual(before.get("member-of-b"));
  });

  test("of two members that claim the same index one gets it", () => {
    const shares = assignIndexes([member("a", [0, 1]), member("b", [0, 1])], 2);
    expect([...shares.values()].map((share) => share.length)).toEqual([1, 1]);
  });

  test("without members there is nothing to give", () => {
    expect(assignIndexes([], 8)).toEqual(new Map());
  });
});
