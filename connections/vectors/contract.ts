// The test that every VectorIndex passes; called by the test of each implementation.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VectorError, type VectorIndex } from "./port.ts";

const dimension = 6;
const unit = (values: readonly number[]): Float32Array => {
  const length = Math.hypot(...values) || 1;
  return Float32Array.from(values, (value) => value / length);
};
const axis = (i: number): Float32Array => Float32Array.from({ length: dimension }, (_, j) => (i === j ? 1 : 0));
const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "none",
    (error: unknown) => (error instanceof VectorError ? error.code : error),
  );
const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);

/** `start` is called once, the function it gives makes an empty index of the dimension each time. */
export function describeVectorIndex(
  name: string,
  start: (dimension: number) => Promise<{ open(): VectorIndex; stop(): Promise<void> }>,
): void {
  describe(`vector index: ${name}`, () => {
    let owner: { open(): VectorIndex; stop(): Promise<void> };
    beforeAll(async () => {
      owner = await start(dimension);
    });
    afterAll(() => owner.stop());
    const idsOf = async (index: VectorIndex, vector: Float32Array, k: number): Promise<string[]> =>
      (await index.search(vector, k)).map((neighbour) => neighbour.id);

    test("nearest first, with the cosine", async () => {
      const index = owner.open();
      await index.add([
        { id: "far", vector: unit([-1, 0.1, 0, 0, 0, 0]) },
        { id: "near", vector: unit([1, 0.1, 0, 0, 0, 0]) },
        { id: "beside", vector: axis(1) },
      ]);
      const found = await index.search(axis(0), 3);
      expect(found.map((neighbour) => neighbour.id)).toEqual(["near", "beside", "far"]);
      expect(found[0]?.similarity).toBeCloseTo(1 / Math.hypot(1, 0.1), 5);
      expect(found[1]?.similarity).toBeCloseTo(0, 6);
      expect(index.size()).toBe(3);
      await index.close();
    });

    test("an empty index finds nothing; k may be larger than the index, and 0", async () => {
      const index = owner.open();
      expect(await index.search(axis(0), 5)).toEqual([]);
      await index.remove(["unknown"]);
      await index.add([]);
      await index.add([{ id: "a", vector: axis(0) }]);
      expect(await idsOf(index, axis(0), 100)).toEqual(["a"]);
      expect(await index.search(axis(0), 0)).toEqual([]);
      await index.close();
    });

    test("adding an id again replaces its vector, also within one call", async () => {
      const index = owner.open();
      await index.add([
        { id: "a", vector: axis(0) },
        { id: "b", vector: axis(1) },
      ]);
      await index.add([{ id: "a", vector: axis(2) }]);
      expect(index.size()).toBe(2);
      expect((await index.search(axis(0), 2)).every((neighbour) => neighbour.similarity === 0)).toBe(true);
      await index.add([
        { id: "a", vector: axis(3) },
        { id: "a", vector: axis(4) },
      ]);
      expect(index.size()).toBe(2);
      expect(await index.search(axis(4), 1)).toEqual([{ id: "a", similarity: 1 }]);
      await index.close();
    });

    test("the caller may change a vector once add has resolved, and keeps the one it searches with", async () => {
      const index = owner.open();
      const vector = axis(0);
      await index.add([{ id: "a", vector }]);
      vector.fill(0.5);
      const query = axis(0);
      expect((await index.search(query, 1))[0]?.similarity).toBe(1);
      expect(query).toEqual(axis(0));
      await index.close();
    });

    test("a wrong dimension, NaN and infinity are refused, and nothing of that call is added", async () => {
      const index = owner.open();
      const good = { id: "good", vector: axis(0) };
      expect(await codeOf(index.add([good, { id: "short", vector: new Float32Array(3) }]))).toBe("wrong_dimension");
      expect(await codeOf(index.add([good, { id: "nan", vector: axis(0).fill(NaN, 2) }]))).toBe("not_finite");
      expect(await codeOf(index.add([good, { id: "inf", vector: axis(0).fill(Infinity, 2) }]))).toBe("not_finite");
      expect(await codeOf(index.search(new Float32Array(7), 1))).toBe("wrong_dimension");
      expect(await codeOf(index.search(axis(0).fill(NaN), 1))).toBe("not_finite");
      expect(index.size()).toBe(0);
      expect(await index.search(axis(0), 5)).toEqual([]);
      await index.close();
    });

    test("two indexes know nothing of each other", async () => {
      const [one, two] = [owner.open(), owner.open()];
      await one.add([{ id: "a", vector: axis(0) }]);
      await two.add([{ id: "a", vector: axis(1) }]);
      await two.remove(["a"]);
      expect(await idsOf(one, axis(0), 5)).toEqual(["a"]);
      expect(await idsOf(two, axis(0), 5)).toEqual([]);
      await Promise.all([one.close(), two.close()]);
    });

    test("concurrent calls: each search gets its own answer and sees what was awaited before it", async () => {
      const index = owner.open();
      await index.add(Array.from({ length: dimension }, (_, i) => ({ id: `${i}`, vector: axis(i) })));
      const searches = Array.from({ length: 200 }, (_, i) => idsOf(index, axis(i % dimension), 1 + (i % 3)));
      const adding = index.add([{ id: "late", vector: unit([1, 1, 1, 1, 1, 1]) }]);
      const found = await Promise.all(searches);
      expect(found.map((ids) => ids[0])).toEqual(Array.from({ length: 200 }, (_, i) => `${i % dimension}`));
      expect(found.map((ids) => ids.length)).toEqual(Array.from({ length: 200 }, (_, i) => 1 + (i % 3)));
      await adding;
      expect(await idsOf(index, unit([1, 1, 1, 1, 1, 1]), 1)).toEqual(["late"]);
      await index.close();
    });

    test("agrees with brute force after any additions, replacements and removals", async () => {
      const vector = fc
        .array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: dimension, maxLength: dimension })
        .map(unit);
      const id = fc.integer({ min: 0, max: 150 }).map(String);
      const change = fc.oneof(
        fc.record({ add: fc.array(fc.record({ id, vector }), { maxLength: 60 }) }),
        fc.record({ remove: fc.array(id, { maxLength: 60 }) }),
      );
      const scenario = fc.record({
        changes: fc.array(change, { maxLength: 12 }),
        query: vector,
        k: fc.integer({ min: 1, max: 200 }),
      });
      await fc.assert(
        fc.asyncProperty(scenario, async ({ changes, query, k }) => {
          const index = owner.open();
          const truth = new Map<string, Float32Array>();
          for (const change of changes) {
            if ("add" in change) {
              await index.add(change.add);
              for (const entry of change.add) truth.set(entry.id, entry.vector);
            } else {
              await index.remove(change.remove);
              for (const removed of change.remove) truth.delete(removed);
            }
          }
          const found = await index.search(query, k);
          expect(index.size()).toBe(truth.size);
          expect(new Set(found.map((neighbour) => neighbour.id)).size).toBe(Math.min(k, truth.size));
          const wanted = [...truth.values()].map((known) => dot(known, query)).sort((a, b) => b - a);
          found.forEach((neighbour, i) => {
            const known = truth.get(neighbour.id);
            if (known === undefined) throw new Error(`${neighbour.id} was removed or never added`);
            // By rank and by id: ties may come in any order.
            expect(neighbour.similarity).toBeCloseTo(wanted[i] ?? NaN, 4);
            expect(neighbour.similarity).toBeCloseTo(dot(known, query), 4);
          });
          await index.close();
        }),
        { numRuns: 60 },
      );
    });
  });
}
