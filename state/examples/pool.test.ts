// What a pool finds, refuses and forgets. pool-restart.test.ts: what is left after an end;
// pool-model.test.ts: any order of everything.
import { afterEach, expect, test } from "vitest";
import { embeddingToBytes } from "../../algorithms/selection/embedding.ts";
import { traitsOf } from "../../algorithms/selection/example-traits.ts";
import { createExactIndex, createExactIndexes } from "../vectors/exact.ts";
import { VectorError, type VectorIndex, type VectorIndexes } from "../vectors/port.ts";
import { anExample, axis } from "./examples.testing.ts";
import { cleanUp, testPool } from "./pool.testing.ts";
import type { ExampleChange, ExamplePool, HeldExample } from "./port.ts";
import type { Example } from "../../schemas/types.ts";

afterEach(cleanUp);

const held = ({ embedding: _, embeddingModel: __, ...rest }: Example): HeldExample => rest;
const put = (value: Example): ExampleChange => ({ id: value.id, domain: value.domain, value });
const gone = ({ id, domain }: Example): ExampleChange => ({ id, domain, value: null });
const found = async (pool: ExamplePool, domain = "acme/default", along = 0): Promise<string[]> =>
  (await pool.nearest(domain, axis(along), 99, 0)).map(({ example }) => example.id).sort();

test("finds the nearest of the domain, whole examples with similarity and vector", async () => {
  const pool = await testPool();
  const [near, far] = [anExample({ id: "near" }), anExample({ id: "far", vector: axis(1) })];
  expect(await pool.upsert([far, near])).toEqual([]);
  expect(await pool.nearest("acme/default", axis(0), 1, 0)).toEqual([
    { example: held(near), similarity: 1, vector: axis(0), traits: traitsOf(near, axis(0)) },
  ]);
  expect(await found(pool, "acme/other")).toEqual([]);
  expect(pool.get("near")).toEqual(held(near));
  await pool.remove(["near", "unknown"]);
  expect(await found(pool)).toEqual(["far"]);
  await pool.remove(["far"]);
  expect(await found(pool)).toEqual([]);
  expect([pool.size(), pool.get("near")]).toEqual([0, undefined]);
});

test("an upsert replaces texts and vector", async () => {
  const pool = await testPool();
  await pool.upsert([anExample({ id: "a" })]);
  const better = anExample({ id: "a", response: "better", vector: axis(2) });
  await pool.upsert([better]);
  expect(await pool.nearest("acme/default", axis(2), 5, 0)).toMatchObject([{ example: held(better), similarity: 1 }]);
});

test.each([
  [Float32Array.of(0.1, 0.7, -0.7, 0.1), Float32Array.of(0.5, 0.5, -0.5, 0.5), 0.8],
  [Float32Array.of(0.6, 0, 0, 0.48, 0.64), Float32Array.of(0, 0, 0, -0.6, 0.8), 0.224],
])(
  "similarity is of the vector that came in, within a thousandth, and the vector has length 1",
  async (one, other, expected) => {
    const { length: dimension } = one;
    const pool = await testPool({
      embedder: { model: "test", dimension, embedAll: () => Promise.reject(new Error("not asked")) },
    });
    await pool.upsert([anExample({ vector: one })]);
    const [candidate] = await pool.nearest("acme/default", other, 1, 0);
    expect(candidate?.similarity).toBeCloseTo(expected, 3);
    expect(Math.hypot(...(candidate?.vector ?? []))).toBeCloseTo(1, 6);
  },
);

test("of what is expired nothing is found, and as many others as asked for", async () => {
  const pool = await testPool();
  const expired = Array.from({ length: 40 }, (_, i) => anExample({ id: `old${i}`, expiresAt: 1_000 }));
  await pool.upsert([...expired, anExample({ id: "young", vector: axis(1), expiresAt: 1_001 })]);
  expect((await pool.nearest("acme/default", axis(0), 1, 1_000)).map(({ example }) => example.id)).toEqual(["young"]);
  expect((await pool.nearest("acme/default", axis(0), 50, 999)).length).toBe(41);
});

test.each([
  ["NaN", { embedding: embeddingToBytes(axis(0).fill(NaN, 1, 2)) }, /NaN/],
  ["infinity", { embedding: embeddingToBytes(axis(0).fill(Infinity, 1, 2)) }, /infinite/],
  ["a wrong size", { embedding: Buffer.alloc(7) }, /7 bytes, expected 16/],
  ["no length", { embedding: Buffer.alloc(16) }, /length 0.*expected 1/],
  ["another length", { embedding: embeddingToBytes(axis(0).map((value) => 3 * value)) }, /length 3/],
  ["a foreign domain", { domain: "umbrella/shell" }, /not one of its tenant acme/],
  ["an id that is no key", { id: "a\0b" }, /printable ASCII/],
])("refuses an example with %s, and holds the others", async (_, over, reason) => {
  const pool = await testPool();
  const bad = anExample({ id: "bad", ...over });
  const expected = [{ id: bad.id, reason: expect.stringMatching(reason) as unknown }];
  expect(await pool.upsert([bad, anExample({ id: "good" })])).toEqual(expected);
  expect(pool.size()).toBe(1);
  expect(await pool.apply(0, [put(bad)], 5n)).toEqual(expected);
  expect([pool.size(), pool.position(0)]).toEqual([1, 5n]);
});

test("an id can't be taken over, nor taken away, by another domain", async () => {
  const pool = await testPool();
  await pool.apply(0, [put(anExample({ id: "a" }))], 1n);
  const foreign = anExample({ id: "a", tenant: "umbrella", domain: "umbrella/x" });
  expect((await pool.upsert([foreign]))[0]?.reason).toMatch(/another domain/);
  expect((await pool.apply(0, [put(foreign), gone(foreign)], 2n))[0]?.reason).toMatch(/another domain/);
  expect(await found(pool)).toEqual(["a"]);
  expect(await found(pool, "umbrella/x")).toEqual([]);
});

test("a tenant whose name had to be escaped has its examples", async () => {
  const pool = await testPool();
  expect(await pool.upsert([anExample({ tenant: "Acme Inc/x" })])).toEqual([]);
  expect((await found(pool, "Acme%20Inc%2Fx/default")).length).toBe(1);
});

test("an example goes with the last partition that brought it", async () => {
  const pool = await testPool();
  const [a, b] = [anExample({ id: "a" }), anExample({ id: "b" })];
  await pool.apply(0, [put(a), put(b)], 2n);
  await pool.apply(1, [put(a)], 1n);
  await pool.apply(0, [gone(a), gone(b)], 4n);
  expect(await found(pool)).toEqual(["a"]);
  expect([pool.position(0), pool.position(1), pool.position(2)]).toEqual([4n, 1n, null]);
  await pool.release(0);
  expect([await found(pool), pool.position(0)]).toEqual([["a"], null]);
  await pool.release(1);
  expect([await found(pool), pool.position(1), pool.size()]).toEqual([[], null, 0]);
});

test("what was written ahead of the topic stays until the topic says otherwise", async () => {
  const pool = await testPool();
  const [a, b] = [anExample({ id: "a" }), anExample({ id: "b" })];
  await pool.upsert([a, b]);
  await pool.release(0);
  expect(await found(pool)).toEqual(["a", "b"]);
  await pool.apply(0, [gone(a), put(b)], 2n);
  expect(await found(pool)).toEqual(["b"]);
  await pool.release(0);
  expect(await found(pool)).toEqual([]);
});

test("a row that can't be held replaces the one before it", async () => {
  const pool = await testPool();
  await pool.apply(0, [put(anExample({ id: "a" }))], 1n);
  expect((await pool.apply(0, [put(anExample({ id: "a", embedding: Buffer.alloc(3) }))], 2n)).length).toBe(1);
  expect(await found(pool)).toEqual([]);
});

test("a batch larger than a transaction is applied whole, with its offset", async () => {
  const pool = await testPool();
  const many = Array.from({ length: 3_000 }, (_, i) => anExample({ id: `e${i}`, request: "long ".repeat(50) }));
  await pool.apply(0, many.map(put), 3_000n);
  expect([pool.size(), pool.position(0)]).toEqual([3_000, 3_000n]);
  await pool.apply(0, many.slice(1).map(gone), 6_000n);
  expect(await found(pool)).toEqual(["e0"]);
});

test("when the owner of the indexes dies, searches fail until they are built again with everything in them", async () => {
  let dead = false;
  let opened = 0;
  const mortal = async (): Promise<VectorIndexes> => {
    opened++;
    // The second attempt fails too: the pool has to try again.
    if (opened === 2) throw new VectorError("index_unavailable", "not yet");
    dead = false;
    return {
      ...createExactIndexes(4),
      open: () => {
        const index = createExactIndex(4);
        const alive = (): void => {
          if (dead) throw new VectorError("index_unavailable", "the owner died");
        };
        return {
          ...index,
          add: async (keys, vectors) => (alive(), index.add(keys, vectors)),
          search: async (vector, k) => (alive(), index.search(vector, k)),
        } satisfies VectorIndex;
      },
    };
  };
  const pool = await testPool({ openIndexes: mortal });
  await pool.upsert([anExample({ id: "a" }), anExample({ id: "b", tenant: "umbrella" })]);
  dead = true;
  await expect(found(pool)).rejects.toMatchObject({ code: "index_unavailable" });
  // Waits for its turn, behind the rebuilding.
  await pool.upsert([anExample({ id: "c" })]);
  expect(await found(pool)).toEqual(["a", "c"]);
  expect(await found(pool, "umbrella/default")).toEqual(["b"]);
  dead = true;
  await pool.upsert([anExample({ id: "d" })]);
  expect(await found(pool)).toEqual(["a", "c", "d"]);
  expect(pool.figures()).toMatchObject({ examples: 4, domains: 2, rebuilds: 2 });
});
