// The addon alone: what crosses into it is checked, and both ways of computing agree.
import { afterEach, describe, expect, test } from "vitest";
import { isFaissBuilt, loadNative } from "./native.ts";

const built = isFaissBuilt();
const dimension = 45;
let state = 7;
const random = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return (state >>> 8) / 2 ** 23 - 1;
};
const vectors = (n: number): Float32Array => Float32Array.from({ length: n * dimension }, () => random() / 4);
const keys = (n: number): Uint32Array => Uint32Array.from({ length: n }, (_, i) => i);

describe.skipIf(!built)("the addon", () => {
  const native = built ? loadNative() : undefined!;
  afterEach(() => native.useFastProducts(true));

  test("wrong arguments throw, and the process lives", async () => {
    expect(() => new native.Index(0)).toThrow(RangeError);
    const index = new native.Index(dimension);
    expect(() => index.add(keys(2), vectors(1))).toThrow(RangeError);
    expect(() => index.add(vectors(1) as never, vectors(1))).toThrow(TypeError);
    expect(() => index.add([1] as never, vectors(1))).toThrow(TypeError);
    expect(() => index.search(vectors(1).subarray(1), 1, 1)).toThrow(RangeError);
    expect(() => index.search(vectors(1), -1, 1)).toThrow(RangeError);
    expect(() => index.search(vectors(1), 1.5, 1)).toThrow(RangeError);
    expect(() => index.probe(vectors(2), 1)).toThrow(RangeError);
    await expect(index.restore("/no/such/file")).rejects.toThrow(/no\/such\/file/);
    await expect(index.save("/no/such/folder/file", "")).rejects.toThrow(/no\/such\/folder/);
    await expect(index.rebuild(10, 10, 2, 1)).resolves.toBeUndefined();
    index.drop();
    expect(() => index.search(vectors(1), 1, 1)).toThrow(/dropped/);
  });

  test("two builds of one index at once: one fails, the other is not disturbed", async () => {
    const index = new native.Index(dimension);
    await index.add(keys(5_000), vectors(5_000));
    const builds = await Promise.allSettled([index.rebuild(70, 64, 200, 1), index.rebuild(70, 64, 200, 1)]);
    const failed = builds.flatMap((build) => (build.status === "rejected" ? [String(build.reason)] : []));
    expect(failed).toEqual([expect.stringMatching(/already/)]);
    expect([index.lists, index.size]).toEqual([70, 5_000]);
  });

  test.each([0, 40])("portable loops and those for AVX2 find the same (%i clusters)", async (lists) => {
    const index = new native.Index(dimension);
    await index.add(keys(3_000), vectors(3_000));
    await index.rebuild(lists, 32, 5, 1);
    const queries = vectors(7);
    const ours = index.search(queries, 9, 5);
    native.useFastProducts(false);
    expect(native.productsInUse()).toBe("portable");
    const theirs = index.search(queries, 9, 5);
    expect(theirs.keys).toEqual(ours.keys);
    ours.similarities.forEach((value, i) => expect(theirs.similarities[i]).toBeCloseTo(value, 4));
  });

  test.each([1, 15, 16, 33, 384, 1_100])(
    "8 bits keep the products of %i numbers, with portable loops as well",
    async (d) => {
      const [n, lists] = [300, 6];
      const rows = Float32Array.from({ length: n * d }, (_, i) => {
        // Zeros alone, very large ones, and some too small for anything.
        const of = Math.floor(i / d);
        return of === 7 ? 0 : random() * (of === 8 ? 1e15 : of === 9 ? 1e-42 : 1);
      });
      const query = Float32Array.from({ length: d }, random);
      const norm = (at: number): number => Math.hypot(...rows.subarray(at * d, (at + 1) * d));
      const largest = (at: number): number =>
        rows.subarray(at * d, (at + 1) * d).reduce((a, b) => Math.max(a, Math.abs(b)), 0);
      // Half a step for each number, and what 32 bits and the query's 16 lose on the way.
      const allowed = (at: number): number =>
        ((Math.sqrt(d) * 0.505) / 127) * largest(at) * Math.hypot(...query) +
        4e-5 * norm(at) * Math.hypot(...query) +
        1e-30;
      const product = (at: number): number => query.reduce((sum, value, j) => sum + value * rows[at * d + j]!, 0);
      const index = new native.Index(d);
      await index.add(keys(n), rows);
      await index.rebuild(lists, 32, 5, 1);
      for (const fast of [true, false]) {
        native.useFastProducts(fast);
        const found = index.search(query, n, lists);
        expect(new Set(found.keys).size).toBe(n);
        found.keys.forEach((key, i) =>
          expect(Math.abs(found.similarities[i]! - product(key))).toBeLessThanOrEqual(allowed(key)),
        );
        // The nearest few are the true ones, but for what is as near.
        const true5 = [...keys(n)].sort((a, b) => product(b) - product(a)).slice(0, 5);
        const few = index.search(query, 5, lists);
        few.similarities.forEach((similarity, i) =>
          expect(similarity).toBeGreaterThanOrEqual(product(true5[i]!) - allowed(true5[i]!)),
        );
      }
    },
  );

  test("a probe finds what an exact search finds, and says how many probes reach it", async () => {
    const index = new native.Index(dimension);
    // Whole numbers of up to 127, which 8 bits keep as they are.
    const rows = vectors(3_000).map((number, i) => (i % dimension === 0 ? 127 : Math.round(508 * number)));
    await index.add(keys(3_000), rows);
    const query = vectors(1);
    const exact = index.search(query, 20, 1);
    await index.rebuild(50, 32, 5, 1);
    const { keys: true20, ranks } = await index.probe(query, 20);
    expect([...true20].sort()).toEqual([...exact.keys].sort());
    for (const probes of [1, 5, 20]) {
      const found = new Set(index.search(query, 20, probes).keys);
      true20.forEach((key, i) => expect(found.has(key), `probes ${probes}, rank ${ranks[i]}`).toBe(ranks[i]! < probes));
    }
    expect(index.search(query, 3_000, 1).counts[0]).toBe(3_000);
    expect((await index.sample(100)).length).toBe(100 * dimension);
  });
});
