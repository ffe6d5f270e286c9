import fc from "fast-check";
import { pino } from "pino";
import { expect, test } from "vitest";
import type { Example } from "../../schemas/types.ts";
import { createExactIndex } from "../vectors/exact.ts";
import { VectorError, type VectorIndex, type VectorIndexes } from "../vectors/port.ts";
import { embeddingFromBytes, embeddingToBytes } from "../../algorithms/embedding.ts";
import { createMemoryPool } from "./memory.ts";

const dimension = 4;
const embedder = { model: "test", dimension };
const log = pino({ level: "silent" });
const exact = async (): Promise<VectorIndexes> => ({
  kind: "exact",
  open: () => createExactIndex(dimension),
  close: async () => undefined,
});
const create = (openIndexes = exact) => createMemoryPool({ embedder, openIndexes, log, pause: { first: 1, last: 5 } });

const axis = (i: number): Float32Array => Float32Array.from({ length: dimension }, (_, j) => (i === j ? 1 : 0));
const example = (id: string, over: Partial<Example> = {}): Example => ({
  id,
  tenant: "acme",
  domain: "acme/shell",
  request: `request ${id}`,
  response: `response ${id}`,
  embedding: embeddingToBytes(axis(0)),
  embeddingModel: "test",
  source: { arm: "a", model: "m", requestId: null },
  quality: 1,
  bytes: 1,
  expiresAt: null,
  replays: 0,
  createdAt: 0,
  ...over,
});

test("finds the nearest of the domain, whole examples with their similarity", async () => {
  const pool = await create();
  const near = example("near");
  const refused = await pool.upsert([example("far", { embedding: embeddingToBytes(axis(1)) }), near]);
  expect(refused).toEqual([]);
  expect(await pool.nearest("acme/shell", axis(0), 1, 0)).toEqual([{ example: near, similarity: 1 }]);
  expect(await pool.nearest("acme/other", axis(0), 1, 0)).toEqual([]);
  await pool.remove(["near", "unknown"]);
  expect((await pool.nearest("acme/shell", axis(0), 9, 0)).map((found) => found.example.id)).toEqual(["far"]);
  await pool.remove(["far"]);
  expect(await pool.nearest("acme/shell", axis(0), 9, 0)).toEqual([]);
  expect(pool.size()).toBe(0);
  await pool.close();
});

test("an upsert replaces texts and vector", async () => {
  const pool = await create();
  await pool.upsert([example("a")]);
  const better = example("a", { response: "better", embedding: embeddingToBytes(axis(2)) });
  await pool.upsert([better]);
  expect(await pool.nearest("acme/shell", axis(2), 5, 0)).toEqual([{ example: better, similarity: 1 }]);
  await pool.close();
});

test.each([
  ["NaN", { embedding: embeddingToBytes(axis(0).fill(NaN, 1, 2)) }, /NaN/],
  ["infinity", { embedding: embeddingToBytes(axis(0).fill(Infinity, 1, 2)) }, /infinite/],
  ["a wrong size", { embedding: Buffer.alloc(7) }, /7 bytes, expected 16/],
  ["no length", { embedding: Buffer.alloc(16) }, /length 0.*expected 1/],
  ["another length", { embedding: embeddingToBytes(axis(0).map((value) => 3 * value)) }, /length 3/],
  ["another model", { embeddingModel: "other" }, /embedded with other, this pool holds test/],
  ["a foreign domain", { domain: "umbrella/shell" }, /not one of its tenant acme/],
])("refuses an example with %s, and holds the others", async (_, over, reason) => {
  const pool = await create();
  const refused = await pool.upsert([example("bad", over), example("good")]);
  expect(refused).toEqual([{ id: "bad", reason: expect.stringMatching(reason) as unknown }]);
  expect(pool.size()).toBe(1);
  await pool.close();
});

test("an id can't be taken over by another domain", async () => {
  const pool = await create();
  await pool.upsert([example("a")]);
  const refused = await pool.upsert([example("a", { tenant: "umbrella", domain: "umbrella/x" })]);
  expect(refused[0]?.reason).toMatch(/another domain/);
  expect((await pool.nearest("acme/shell", axis(0), 1, 0))[0]?.example.tenant).toBe("acme");
  await pool.close();
});

test("whatever is held, nearest gives k unexpired examples of the domain and nothing else", async () => {
  const domain = fc.constantFrom("acme/shell", "acme/sql", "umbrella/shell");
  const entry = fc.record({
    id: fc.integer({ min: 0, max: 40 }),
    domain,
    axis: fc.integer({ min: 0, max: 3 }),
    expiresAt: fc.option(fc.integer({ min: 0, max: 100 })),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(entry, { maxLength: 60 }),
      fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 10 }),
      domain,
      fc.integer({ min: 0, max: 100 }),
      fc.integer({ min: 1, max: 20 }),
      async (entries, removed, asked, now, k) => {
        const pool = await create();
        const made = entries.map((given) =>
          example(`${given.domain}-${given.id}`, {
            tenant: given.domain.split("/")[0] ?? "",
            domain: given.domain,
            embedding: embeddingToBytes(axis(given.axis)),
            expiresAt: given.expiresAt,
          }),
        );
        expect(await pool.upsert(made)).toEqual([]);
        const goneIds = removed.map((id) => `${asked}-${id}`);
        await pool.remove(goneIds);
        const truth = new Map(made.map((one) => [one.id, one]));
        for (const id of goneIds) truth.delete(id);
        const visible = [...truth.values()].filter(
          (one) => one.domain === asked && (one.expiresAt === null || one.expiresAt > now),
        );
        const found = await pool.nearest(asked, axis(1), k, now);
        expect(found.length).toBe(Math.min(k, visible.length));
        expect(found.every((one) => visible.includes(one.example))).toBe(true);
        expect(found.filter((one) => one.similarity === 1).length).toBe(
          Math.min(k, visible.filter((one) => one.embedding.equals(embeddingToBytes(axis(1)))).length),
        );
        expect(pool.size()).toBe(truth.size);
        await pool.close();
      },
    ),
  );
});

test("when the owner of the indexes dies, searches fail until they are rebuilt with everything in them", async () => {
  let dead = false;
  let opened = 0;
  const mortal = async (): Promise<VectorIndexes> => {
    opened++;
    // The second attempt fails too: the pool has to try again.
    if (opened === 2) throw new VectorError("index_unavailable", "not yet");
    dead = false;
    return {
      kind: "exact",
      close: async () => undefined,
      open: () => {
        const index = createExactIndex(dimension);
        const alive = (): void => {
          if (dead) throw new VectorError("index_unavailable", "the owner died");
        };
        return {
          ...index,
          add: async (entries) => (alive(), index.add(entries)),
          search: async (vector, k) => (alive(), index.search(vector, k)),
        } satisfies VectorIndex;
      },
    };
  };
  const pool = await create(mortal);
  await pool.upsert([example("a"), example("b", { tenant: "umbrella", domain: "umbrella/x" })]);
  dead = true;
  await expect(pool.nearest("acme/shell", axis(0), 1, 0)).rejects.toMatchObject({ code: "index_unavailable" });
  // Waits for its turn, behind the rebuilding.
  await pool.upsert([example("c")]);
  expect((await pool.nearest("acme/shell", axis(0), 5, 0)).map((found) => found.example.id).sort()).toEqual(["a", "c"]);
  expect((await pool.nearest("umbrella/x", axis(0), 5, 0)).length).toBe(1);
  dead = true;
  await pool.upsert([example("d")]);
  expect((await pool.nearest("acme/shell", axis(0), 5, 0)).length).toBe(3);
  await pool.close();
});

test("embeddings keep their numbers through bytes, whatever their offset", () => {
  fc.assert(
    fc.property(fc.array(fc.float({ noNaN: true, min: -1, max: 1 }), { minLength: 3, maxLength: 3 }), (values) => {
      const length = Math.hypot(...values);
      fc.pre(length > 0.01);
      const vector = Float32Array.from(values, (value) => value / length);
      const shifted = Buffer.concat([Buffer.alloc(3), embeddingToBytes(vector)]).subarray(3);
      expect(embeddingFromBytes(shifted, 3)).toEqual(vector);
    }),
  );
});
