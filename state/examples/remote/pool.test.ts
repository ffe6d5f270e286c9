import fc from "fast-check";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { MilvusError, type MilvusCollection, type MilvusRow } from "../../../connections/milvus/port.ts";
import { anExample, axis } from "../examples.testing.ts";
import { SimilarityDegraded } from "./degraded.ts";
import { createRemotePool, type RemotePool } from "./pool.ts";
import { createPopular } from "./popular.ts";
import { createSearch } from "./read.ts";
import { groupOf, keyOf, rowOf, stateOf, stateRow, type TableState } from "./rows.ts";
import { createWithdrawn } from "./withdrawn.ts";

const identity = { topic: "examples", cluster: "c", topicId: "t" };
const now = 1_700_000_000_000;
const log = pino({ level: "silent" });
const state = (over: Partial<TableState> = {}): TableState => ({
  ...{ ...identity, model: "test", dimension: 4, generation: 5, at: now },
  partitions: [{ next: 100, settled: 90, filled: true }],
  ...over,
});

/** A collection in memory; calls fail while it is away. */
function collectionOf(first: TableState | null = state()) {
  const rows = new Map<string, MilvusRow>();
  const calls = { search: 0, read: 0 };
  const fake = {
    ...{ rows, calls, isAway: false, afterSearch: () => undefined as unknown },
    set(next: TableState | null): void {
      const row = stateRow(next ?? state());
      if (next === null) rows.delete(row.key);
      else rows.set(row.key, row);
    },
    put(example: ReturnType<typeof anExample>, vector = axis(0), partition = 0): string {
      const key = keyOf(partition, `${example.domain}/${example.id}`);
      const row = rowOf(example, vector, { key, generation: 5 });
      if ("reason" in row) throw new Error(row.reason);
      rows.set(key, row);
      return key;
    },
    async facts() {
      if (fake.isAway) throw new MilvusError("unavailable", "away");
      return { version: "fake", collection: { dimension: 4, rows: rows.size } };
    },
    async search({ group, generation, vector, k }: Parameters<MilvusCollection["search"]>[0]) {
      calls.search++;
      if (fake.isAway) throw new MilvusError("unavailable", "away");
      const near = ({ vector: other }: MilvusRow): number => other.reduce((sum, one, i) => sum + one * vector[i]!, 0);
      const found = [...rows.values()]
        .filter((row) => row.group === group && row.generation === generation)
        .sort((one, other) => near(other) - near(one))
        .slice(0, k);
      fake.afterSearch();
      return found.map(({ key, stamp }) => ({ key, stamp }));
    },
    async read(keys: readonly string[]) {
      calls.read += keys.length > 0 ? 1 : 0;
      if (fake.isAway) throw new MilvusError("unavailable", "away");
      return keys.flatMap((key) => rows.get(key) ?? []);
    },
  };
  fake.set(first);
  return fake;
}

async function poolOn(collection: ReturnType<typeof collectionOf>, clock = () => now): Promise<RemotePool> {
  const embedder = { model: "test", dimension: 4 };
  const pool = createRemotePool({ collection, embedder, topic: identity, clock, log });
  await lookAt(pool);
  return pool;
}
async function lookAt(pool: RemotePool, follow = (): Promise<void> => Promise.resolve()): Promise<void> {
  await pool.look({ follow });
  await Promise.resolve();
}
const example = anExample();
const { domain } = example;
const ids = async (pool: RemotePool): Promise<string[] | { popular: string[] }> => {
  try {
    return (await pool.nearest(domain, axis(0), 5, now)).map((one) => one.example.id);
  } catch (error) {
    if (!(error instanceof SimilarityDegraded)) throw error;
    return { popular: error.popular.map((one) => one.example.id) };
  }
};

test("what was found once is not read again, and is found while the collection is away", async () => {
  const collection = collectionOf();
  const other = anExample({ request: "another", vector: axis(1) });
  collection.put(example);
  collection.put(other, axis(1));
  const pool = await poolOn(collection);
  expect(await ids(pool)).toEqual([example.id, other.id]);
  const { read } = collection.calls;
  expect(await ids(pool)).toEqual([example.id, other.id]);
  expect(collection.calls.read).toBe(read);
  expect(pool.get(example.id)).toMatchObject({ request: example.request });

  collection.isAway = true;
  expect(await ids(pool)).toEqual({ popular: [example.id, other.id] });
  await expect(pool.nearest("acme/other", axis(0), 5, now)).rejects.toMatchObject({ popular: [] });
  collection.isAway = false;
  expect(await ids(pool)).toEqual([example.id, other.id]);
});

test("a changed row is read again", async () => {
  const collection = collectionOf();
  collection.put(example);
  const pool = await poolOn(collection);
  await ids(pool);
  collection.put({ ...example, quality: 0.125 });
  const [found] = await pool.nearest(domain, axis(0), 5, now);
  expect(found?.example.quality).toBe(0.125);
});

test("after three failures in a row one request a second tries; the others don't wait", async () => {
  const collection = collectionOf();
  let time = now;
  const pool = await poolOn(collection, () => time);
  collection.isAway = true;
  for (let i = 0; i < 10; i++) expect(await ids(pool)).toEqual({ popular: [] });
  expect(collection.calls.search).toBe(3);
  time += 1_000;
  for (let i = 0; i < 10; i++) await ids(pool);
  expect(collection.calls.search).toBe(4);
  collection.isAway = false;
  time += 1_000;
  for (let i = 0; i < 10; i++) expect(await ids(pool)).toEqual([]);
  expect(collection.calls.search).toBe(14);
});

test("a withdrawn example is gone at once, however far the collection is behind; another admission brings it back", async () => {
  const collection = collectionOf();
  collection.put(example);
  const pool = await poolOn(collection);
  const recordKey = `${domain}/${example.id}`;
  expect(await ids(pool)).toEqual([example.id]);
  pool.onRecord(0, 95, recordKey, true);
  expect(await ids(pool)).toEqual([]);
  expect(pool.get(example.id)).toBeUndefined();
  collection.isAway = true;
  expect(await ids(pool)).toEqual({ popular: [] });
  collection.isAway = false;
  // The collection has passed it, but a search may still see an older state.
  collection.set(state({ partitions: [{ next: 100, settled: 95, filled: true }] }));
  await lookAt(pool);
  expect(await ids(pool)).toEqual([]);
  pool.onRecord(0, 96, recordKey, false);
  expect(await ids(pool)).toEqual([example.id]);
  // One that is withdrawn while it is read.
  pool.onRecord(0, 97, recordKey, false);
  collection.afterSearch = () => pool.onRecord(0, 98, recordKey, true);
  expect(await ids(pool)).toEqual([]);
});

test("a removal for which there is no room, amid a search, leaves what it removes out of memory, too", async () => {
  const collection = collectionOf();
  const recordKey = `${domain}/${example.id}`;
  collection.put(example);
  const [popular, withdrawn] = [createPopular(), createWithdrawn(0)];
  const search = createSearch({ collection, popular, withdrawn, limitMs: 1_000, strong: false });
  const found = () => search(domain, axis(0), 5, { generation: 5, now });
  expect(await found()).toHaveLength(1);
  popular.forget(keyOf(0, recordKey));
  collection.afterSearch = () => withdrawn.note(0, 98, keyOf(0, recordKey), true);
  expect(await found()).toEqual([]);
  expect(popular.size()).toBe(0);
});

test("what the collection says of itself, if it can't be read, is as if it said nothing", () => {
  const row = stateRow(state());
  expect(stateOf([row])).toEqual(state());
  for (const text of ["", "null", "{", "[]", '{"version":1}', '{"version":1,"partitions":[null]}'])
    expect(stateOf([{ ...row, text }])).toBeNull();
});

test("many withdrawn ones do not hide the others", async () => {
  const collection = collectionOf();
  const all = Array.from({ length: 40 }, (_, i) => anExample({ request: `question ${i}` }));
  for (const one of all) collection.put(one);
  const pool = await poolOn(collection);
  all.slice(0, 35).forEach((one, i) => pool.onRecord(0, 100 + i, `${domain}/${one.id}`, true));
  expect(await ids(pool)).toHaveLength(5);
});

describe("the collection is not searched", () => {
  const cases: [string, Partial<TableState> | null][] = [
    ["where no process has filled it", null],
    ["while it is being filled", { partitions: [{ next: 5, settled: 0, filled: false }] }],
    ["with vectors of another model", { model: "other" }],
    ["with vectors of another length", { dimension: 3 }],
    ["of another topic", { topic: "other.examples" }],
    ["of another cluster", { cluster: "other" }],
    ["of the topic as it was before it was made anew", { topicId: "before" }],
    ["when it was not kept for a day", { at: now - 80_000_000 }],
  ];
  test.each(cases)("%s", async (_, over) => {
    const collection = collectionOf(over === null ? null : state(over));
    collection.put(example);
    const pool = await poolOn(collection);
    expect(pool.isReady()).toBe(false);
    expect(await ids(pool)).toEqual({ popular: [] });
    expect(collection.calls.search).toBe(0);
    collection.set(state());
    await lookAt(pool);
    await pool.ready;
    expect(await ids(pool)).toEqual([example.id]);
  });

  test("before the end of the topic was read, which is tried again", async () => {
    const collection = collectionOf();
    const pool = createRemotePool({
      ...{ collection, embedder: { model: "test", dimension: 4 }, topic: identity, clock: () => now, log },
    });
    const from: number[] = [];
    await pool.look({
      follow(_, offset) {
        from.push(offset);
        return Promise.reject(new Error("the broker is away"));
      },
    });
    await Promise.resolve();
    expect(pool.isReady()).toBe(false);
    await lookAt(pool, () => Promise.resolve());
    expect(pool.isReady()).toBe(true);
    expect(from).toEqual([90]);
  });

  test("and a row of another generation, another domain or another program is none", async () => {
    const collection = collectionOf();
    const key = collection.put(example);
    const row = collection.rows.get(key)!;
    collection.rows.set("a", { ...row, key: "a", generation: 4 });
    collection.rows.set("b", { ...row, key: "b", text: "no JSON" });
    collection.rows.set("c", { ...row, key: "c", text: "null" });
    const foreign = anExample({ tenant: "other", request: "foreign" });
    collection.put(foreign);
    const foreignKey = keyOf(0, `${foreign.domain}/${foreign.id}`);
    collection.rows.set("d", { ...collection.rows.get(foreignKey)!, key: "d", group: groupOf(domain) });
    expect(await ids(await poolOn(collection))).toEqual([example.id]);
  });
});

test("removals that don't fit are remembered by their offset: nothing is shown until they are settled", () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ key: fc.integer({ min: 0, max: 9 }), isGone: fc.boolean() }), { maxLength: 60 }),
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: 1, max: 4 }),
      (records, settled, most) => {
        const withdrawn = createWithdrawn(most);
        records.forEach(({ key, isGone }, offset) => withdrawn.note(0, offset, String(key), isGone));
        withdrawn.settle([settled]);
        expect(withdrawn.size()).toBeLessThanOrEqual(most);
        const last = new Map(records.map(({ key, isGone }, offset) => [key, { offset, isGone }]));
        for (const [key, { offset, isGone }] of last)
          if (isGone && offset >= settled) expect(withdrawn.has(String(key)) || !withdrawn.isComplete()).toBe(true);
          else expect(withdrawn.has(String(key))).toBe(false);
        withdrawn.settle([records.length]);
        expect([withdrawn.size(), withdrawn.isComplete()]).toEqual([0, true]);
      },
    ),
  );
});
