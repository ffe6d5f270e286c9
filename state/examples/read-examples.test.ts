// What a search reads is kept, and never older than the last change that was done.
import { afterEach, expect, test } from "vitest";
import { anExample, axis } from "./examples.testing.ts";
import { cleanUp, testPool } from "./pool.testing.ts";
import { createReadExamples, type ReadExamplesDependencies } from "./read-examples.ts";
import { encodeExample, encodeVector, slotOf } from "./records.ts";
import type { Touched } from "./store-state.ts";

afterEach(cleanUp);

/** Ten examples in domain 3 and how often each was read. */
function tenStored(mostBytes?: number) {
  const reads: number[] = [];
  const rows = new Map<number, { vector: Buffer; example: Buffer }>();
  for (let key = 0; key < 10; key++)
    rows.set(key, {
      vector: encodeVector(slotOf(3, key), axis(key % 4), key === 9 ? 1_000 : null),
      example: encodeExample(key, anExample({ id: `example ${key}` })),
    });
  let changed: (touched: Touched) => void = () => undefined;
  const dependencies = {
    layout: {
      vectors: { getBinaryFast: (slot: number) => (reads.push(slot), rows.get(slot % 2 ** 32)?.vector) },
      examples: { getBinaryFast: (key: number) => rows.get(key)?.example },
    },
    ledger: { header: { dimension: 4 }, onTouched: (listener: (touched: Touched) => void) => (changed = listener) },
    onDamaged: () => expect.unreachable("nothing is damaged"),
    ...(mostBytes === undefined ? {} : { mostBytes }),
  } as unknown as ReadExamplesDependencies;
  const touch = (...keys: number[]): void => changed(new Map([[3, new Map(keys.map((key) => [key, null]))]]));
  const { similarity, example: read } = createReadExamples(dependencies);
  return { similarity, read, reads, rows, touch };
}

test("what was read is given again without reading, until it changes or expires", () => {
  const { read, reads, rows, touch } = tenStored();
  const first = read(3, 1, 0);
  expect(first).toMatchObject({ example: { id: "example 1" }, vector: axis(1), expiresAt: Infinity });
  expect(read(3, 1, 0)).toBe(first);
  expect(read(3, 9, 999)).toMatchObject({ example: { id: "example 9" } });
  expect(read(3, 9, 1_000)).toBeUndefined();
  expect(reads).toHaveLength(2);

  rows.set(1, { ...rows.get(1)!, example: encodeExample(1, anExample({ id: "example 1", response: "better" })) });
  touch(1);
  expect(read(3, 1, 0)).toMatchObject({ example: { response: "better" } });
  rows.delete(1);
  touch(1, 2);
  expect(read(3, 1, 0)).toBeUndefined();
});

test("a similarity is that of the present vector, and reads no text", () => {
  const { similarity, rows, touch } = tenStored();
  rows.set(2, { ...rows.get(2)!, example: Buffer.alloc(0) });
  expect([1, 2].map((key) => similarity(3, key, axis(1), 0))).toEqual([1, 0]);
  expect([999, 1_000].map((now) => similarity(3, 9, axis(1), now))).toEqual([1, undefined]);
  rows.set(1, { ...rows.get(1)!, vector: encodeVector(slotOf(3, 1), axis(0), null) });
  touch(1);
  expect(similarity(3, 1, axis(1), 0)).toBe(0);
  rows.delete(1);
  touch(1);
  expect(similarity(3, 1, axis(1), 0)).toBeUndefined();
});

test("it is bounded in bytes: what was longest not asked for goes first", () => {
  // Each takes 16 bytes of vector, 512 of overhead, twice the length of its texts, and its traits
  // with five tokens.
  const bytes = 16 + 512 + 2 * ("list all files".length + "ls -a".length) + 256 + 8 * 5;
  const { read, reads } = tenStored(3 * bytes);
  for (const key of [0, 1, 2, 0, 3]) read(3, key, 0);
  expect(reads).toEqual([0, 1, 2, 3].map((key) => slotOf(3, key)));
  for (const key of [0, 2, 3]) read(3, key, 0);
  expect(reads).toHaveLength(4);
  read(3, 1, 0);
  expect(reads).toHaveLength(5);
});

test("searches that go on during changes keep nothing from before them", async () => {
  const pool = await testPool();
  const version = (response: string) => anExample({ id: "a", response });
  let searching = true;
  const searches = (async () => {
    while (searching) {
      await pool.nearest("acme/default", axis(0), 5, 0);
      await new Promise(setImmediate);
    }
  })();
  const seen: unknown[] = [];
  for (let i = 0; i < 50; i++) {
    await pool.upsert([version(`answer ${i}`)]);
    seen.push((await pool.nearest("acme/default", axis(0), 5, 0))[0]?.example.response);
    await pool.remove(["a"]);
    seen.push((await pool.nearest("acme/default", axis(0), 5, 0)).length);
  }
  searching = false;
  await searches;
  expect(seen).toEqual(Array.from({ length: 50 }, (_, i) => [`answer ${i}`, 0]).flat());
});
