// The test that every VectorIndex passes; called by the test of each implementation.
import { mkdtemp, open, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VectorError, type VectorIndex, type VectorIndexes } from "./port.ts";

const dimension = 6;
/** Half a step of each number, the largest of which is at most 1. */
export const errorOf8Bits = (Math.sqrt(dimension) * 0.501) / 127;
export const unit = (values: readonly number[]): Float32Array => {
  const length = Math.hypot(...values) || 1;
  return Float32Array.from(values, (value) => value / length);
};
const axis = (i: number): Float32Array => Float32Array.from({ length: dimension }, (_, j) => (i === j ? 1 : 0));
export const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "none",
    (error: unknown) => (error instanceof VectorError ? error.code : error),
  );
const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
const add = (index: VectorIndex, ...entries: readonly (readonly [number, Float32Array])[]): Promise<void> =>
  index.add(
    Uint32Array.from(entries, ([key]) => key),
    Float32Array.from(entries.flatMap(([, vector]) => Array.from(vector))),
  );
const keysOf = async (index: VectorIndex, vector: Float32Array, k: number): Promise<number[]> =>
  (await index.search(vector, k)).map((neighbour) => neighbour.key);

/**
 * `start` is called once with the dimension wanted. `error`: by how much a similarity may be off at
 * most (8 bits a number: errorOf8Bits).
 */
export function describeVectorIndex(
  name: string,
  start: (dimension: number) => Promise<VectorIndexes>,
  error = 0.5e-5,
): void {
  describe(`vector index: ${name}`, () => {
    let owner: VectorIndexes;
    let folder: string;
    beforeAll(async () => {
      owner = await start(dimension);
      folder = await mkdtemp(join(tmpdir(), "precedent-vectors-"));
    });
    afterAll(async () => {
      await owner.close();
      await rm(folder, { recursive: true });
    });

    test("nearest first, with the cosine", async () => {
      const index = owner.open();
      await add(index, [7, unit([-1, 0.1, 0, 0, 0, 0])], [0xffffffff, unit([1, 0.1, 0, 0, 0, 0])], [0, axis(1)]);
      const found = await index.search(axis(0), 3);
      expect(found.map((neighbour) => neighbour.key)).toEqual([0xffffffff, 0, 7]);
      expect(Math.abs(found[0]!.similarity - 1 / Math.hypot(1, 0.1))).toBeLessThan(error);
      expect(found[1]?.similarity).toBeCloseTo(0, 6);
      expect(index.figures().size).toBe(3);
      expect(index.figures()).toMatchObject({ size: 3 });
      await index.close();
    });

    test("an empty index finds nothing; k may be larger than the index, and 0", async () => {
      const index = owner.open();
      expect(await index.search(axis(0), 5)).toEqual([]);
      await index.remove(Uint32Array.of(9));
      await add(index);
      await add(index, [1, axis(0)]);
      expect(await keysOf(index, axis(0), 100)).toEqual([1]);
      expect(await index.search(axis(0), 0)).toEqual([]);
      await expect(index.search(axis(0), -1)).rejects.toThrow(RangeError);
      await index.close();
    });

    test("adding a key again replaces its vector, also within one call", async () => {
      const index = owner.open();
      await add(index, [1, axis(0)], [2, axis(1)]);
      await add(index, [1, axis(2)]);
      expect(index.figures().size).toBe(2);
      expect((await index.search(axis(0), 2)).every((neighbour) => neighbour.similarity === 0)).toBe(true);
      await add(index, [1, axis(3)], [1, axis(4)]);
      expect(index.figures().size).toBe(2);
      expect(await index.search(axis(4), 1)).toEqual([{ key: 1, similarity: 1 }]);
      await index.close();
    });

    test("the caller may change a query after it was answered, and keeps the one it searches with", async () => {
      const index = owner.open();
      await add(index, [1, axis(0)]);
      const query = axis(0);
      expect((await index.search(query, 1))[0]?.similarity).toBe(1);
      expect(query).toEqual(axis(0));
      await index.close();
    });

    test("a wrong dimension, NaN and infinity are refused, and nothing of that call is added", async () => {
      const index = owner.open();
      expect(await codeOf(add(index, [1, axis(0)], [2, new Float32Array(3)]))).toBe("wrong_dimension");
      expect(await codeOf(add(index, [1, axis(0)], [2, axis(0).fill(NaN, 2)]))).toBe("not_finite");
      expect(await codeOf(add(index, [1, axis(0)], [2, axis(0).fill(Infinity, 2)]))).toBe("not_finite");
      expect(await codeOf(index.search(new Float32Array(7), 1))).toBe("wrong_dimension");
      expect(await codeOf(index.search(axis(0).fill(NaN), 1))).toBe("not_finite");
      expect(index.figures().size).toBe(0);
      expect(await index.search(axis(0), 5)).toEqual([]);
      await index.close();
    });

    test("two indexes know nothing of each other", async () => {
      const [one, two] = [owner.open(), owner.open()];
      await add(one, [1, axis(0)]);
      await add(two, [1, axis(1)]);
      await two.remove(Uint32Array.of(1));
      expect(await keysOf(one, axis(0), 5)).toEqual([1]);
      expect(await keysOf(two, axis(0), 5)).toEqual([]);
      await Promise.all([one.close(), two.close()]);
    });

    test("concurrent calls: each search gets its own answer and sees what was awaited before it", async () => {
      const index = owner.open();
      await add(index, ...Array.from({ length: dimension }, (_, i) => [i, axis(i)] as const));
      const searches = Array.from({ length: 200 }, (_, i) => keysOf(index, axis(i % dimension), 1 + (i % 3)));
      const adding = add(index, [99, unit([1, 1, 1, 1, 1, 1])]);
      const found = await Promise.all(searches);
      expect(found.map((keys) => keys[0])).toEqual(Array.from({ length: 200 }, (_, i) => i % dimension));
      expect(found.map((keys) => keys.length)).toEqual(Array.from({ length: 200 }, (_, i) => 1 + (i % 3)));
      await adding;
      expect(await keysOf(index, unit([1, 1, 1, 1, 1, 1]), 1)).toEqual([99]);
      await index.close();
    });

    test("a saved index comes back with its note; a missing, cut, changed, foreign or differently sized file is refused", async () => {
      const index = owner.open();
      const file = join(folder, "saved.index");
      await add(index, [1, axis(0)], [2, axis(1)], [3, axis(2)]);
      await index.remove(Uint32Array.of(2));
      await index.save(file, 'version 7, "ß"');
      await add(index, [4, axis(4)]);
      const { index: restored, note } = await owner.restore(file);
      expect(note).toBe('version 7, "ß"');
      expect(restored.figures().size).toBe(2);
      expect((await keysOf(restored, axis(0), 9)).sort()).toEqual([1, 3]);
      await add(restored, [4, axis(5)]);
      expect(await keysOf(restored, axis(5), 1)).toEqual([4]);
      await restored.close();

      const good = await readFile(file);
      expect(await codeOf(owner.restore(join(folder, "missing")))).toBe("bad_snapshot");
      for (let at = 0; at < good.length; at++) {
        const changed = Buffer.from(good);
        changed[at]! ^= 1 << (at % 8);
        await writeFile(file, changed);
        expect(await codeOf(owner.restore(file)), `byte ${at} changed`).toBe("bad_snapshot");
      }
      for (const length of [0, 5, good.length >> 1, good.length - 1]) {
        await writeFile(file, good);
        await truncate(file, length);
        expect(await codeOf(owner.restore(file)), `cut to ${length}`).toBe("bad_snapshot");
      }
      const handle = await open(file, "a");
      await handle.appendFile(Buffer.concat([good.subarray(good.length - 1), Buffer.alloc(64)]));
      await handle.close();
      expect(await codeOf(owner.restore(file))).toBe("bad_snapshot");
      await writeFile(file, "A text of someone else.\n".repeat(50));
      expect(await codeOf(owner.restore(file))).toBe("bad_snapshot");
      await index.close();
    });

    test("a closed index is unavailable", async () => {
      const index = owner.open();
      await add(index, [1, axis(0)]);
      await index.close();
      await index.close();
      expect(await codeOf(index.search(axis(0), 1))).toBe("index_unavailable");
      expect(await codeOf(add(index, [2, axis(0)]))).toBe("index_unavailable");
      expect(await codeOf(index.remove(Uint32Array.of(1)))).toBe("index_unavailable");
      expect(await codeOf(index.save(join(folder, "closed.index"), ""))).toBe("index_unavailable");
    });

    test("an empty index can be saved and restored, and a save that can't be made says so", async () => {
      const index = owner.open();
      const file = join(folder, "empty.index");
      await index.save(file, "");
      const { index: restored, note } = await owner.restore(file);
      expect([restored.figures().size, note]).toEqual([0, ""]);
      await expect(index.save(join(file, "below a file"), "")).rejects.toThrow(/empty.index/);
      await Promise.all([index.close(), restored.close()]);
    });

    test("agrees with brute force after any additions, replacements, removals, saves and restores", async () => {
      const vector = fc
        .array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: dimension, maxLength: dimension })
        .map(unit);
      const key = fc.integer({ min: 0, max: 150 });
      const change = fc.oneof(
        fc.record({ add: fc.array(fc.tuple(key, vector), { maxLength: 60 }) }),
        fc.record({ remove: fc.array(key, { maxLength: 60 }) }),
        fc.record({ restart: fc.constant(true) }),
      );
      const scenario = fc.record({
        changes: fc.array(change, { maxLength: 12 }),
        query: vector,
        k: fc.integer({ min: 1, max: 200 }),
      });
      const file = join(folder, "any.index");
      await fc.assert(
        fc.asyncProperty(scenario, async ({ changes, query, k }) => {
          let index = owner.open();
          const truth = new Map<number, Float32Array>();
          for (const change of changes) {
            if ("add" in change) {
              await add(index, ...change.add);
              for (const [added, vector] of change.add) truth.set(added, vector);
            } else if ("remove" in change) {
              await index.remove(Uint32Array.from(change.remove));
              for (const removed of change.remove) truth.delete(removed);
            } else {
              await index.save(file, "");
              await index.close();
              ({ index } = await owner.restore(file));
            }
          }
          const found = await index.search(query, k);
          expect(index.figures().size).toBe(truth.size);
          expect(new Set(found.map((neighbour) => neighbour.key)).size).toBe(Math.min(k, truth.size));
          const wanted = [...truth.values()].map((known) => dot(known, query)).sort((a, b) => b - a);
          found.forEach((neighbour, i) => {
            const known = truth.get(neighbour.key);
            if (known === undefined) throw new Error(`${neighbour.key} was removed or never added`);
            // By rank and by key: ties may come in any order.
            const allowed = Math.max(error, 0.5e-4);
            expect(Math.abs(neighbour.similarity - (wanted[i] ?? NaN))).toBeLessThan(allowed);
            expect(Math.abs(neighbour.similarity - dot(known, query))).toBeLessThan(allowed);
          });
          await index.close();
        }),
        // Said before the test's time is over: a counterexample is worth more when it is not yet
        // the smallest than not at all.
        { numRuns: 60, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: true },
      );
    });
  });
}
