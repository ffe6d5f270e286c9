// The addon alone: what crosses into it is checked, and both ways of computing agree.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { loadNative } from "./native.ts";

const built = existsSync(fileURLToPath(new URL("../../native/build/precedent-faiss.node", import.meta.url)));
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

  test.each([0, 40])("FAISS's loops and ours find the same (%i clusters)", async (lists) => {
    const index = new native.Index(dimension);
    await index.add(keys(3_000), vectors(3_000));
    await index.rebuild(lists, 32, 5, 1);
    const queries = vectors(7);
    const ours = index.search(queries, 9, 5);
    native.useFastProducts(false);
    expect(native.productsInUse()).toBe("faiss");
    const theirs = index.search(queries, 9, 5);
    expect(theirs.keys).toEqual(ours.keys);
    ours.similarities.forEach((value, i) => expect(theirs.similarities[i]).toBeCloseTo(value, 4));
  });

  test("a probe finds what an exact search finds, and says how many probes reach it", async () => {
    const index = new native.Index(dimension);
    await index.add(keys(3_000), vectors(3_000));
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
