import { pino } from "pino";
import { expect, test } from "vitest";
import { EmbedderError } from "../../../connections/embedder/port.ts";
import type { MilvusCollection, MilvusRow } from "../../../connections/milvus/port.ts";
import type { Example } from "../../../schemas/types.ts";
import { anExample, axis } from "../examples.testing.ts";
import { exampleOf, stateKeys, stateOf } from "./rows.ts";
import { openSink, type RowChange } from "./sink.ts";

function collectionInMemory() {
  const rows = new Map<string, MilvusRow>();
  let isThere = false;
  const collection: MilvusCollection = {
    facts: async () => ({ version: "fake", collection: isThere ? { dimension: 4, rows: rows.size } : null }),
    create: async () => void (isThere = true),
    async drop() {
      isThere = false;
      rows.clear();
    },
    upsert: async (given) => given.forEach((row) => rows.set(row.key, row)),
    remove: async (keys) => keys.forEach((key) => rows.delete(key)),
    search: () => Promise.reject(new Error("not searched")),
    read: async (keys) => keys.flatMap((key) => rows.get(key) ?? []),
    close: () => Promise.resolve(),
  };
  return {
    collection,
    examples: (): string[] =>
      [...rows].flatMap(([key, row]) => (stateKeys.includes(key) ? [] : [exampleOf(row)?.request ?? "?"])),
    vectors: (): Float32Array[] => [...rows].flatMap(([key, row]) => (stateKeys.includes(key) ? [] : [row.vector])),
    state: () => stateOf([...rows.values()]),
  };
}

const topic = { topic: "examples", cluster: "c", topicId: "t" };
const spans = [{ partition: 0, beginning: 3, end: 100 }];
const change = (value: Example): RowChange => ({ key: `${value.domain}/${value.id}`, value });
const gone = ({ domain, id }: Example): RowChange => ({ key: `${domain}/${id}`, value: null });

async function openOn(
  collection: MilvusCollection,
  {
    embedAll = (): Promise<Float32Array[]> => Promise.reject(new Error("embeds nothing")),
    clock = Date.now,
  }: { embedAll?: (texts: readonly string[]) => Promise<Float32Array[]>; clock?: () => number } = {},
) {
  const embedder = { model: "test", dimension: 4, embedAll };
  return openSink({ collection, embedder, topic, spans, clock, log: pino({ level: "silent" }) });
}

test("a position is settled when it has been written down for a minute", async () => {
  const { collection, state } = collectionInMemory();
  let now = 1_000_000;
  const sink = await openOn(collection, { clock: () => now });
  const settledAfter = async (ms: number, next: number): Promise<number | undefined> => {
    await sink.apply(0, [], next);
    now += ms;
    await sink.save();
    return state()?.partitions[0]?.settled;
  };
  expect(await settledAfter(0, 10)).toBe(3);
  expect(await settledAfter(59_999, 20)).toBe(3);
  expect(await settledAfter(1, 30)).toBe(3);
  expect(await settledAfter(60_000, 40)).toBe(30);
  expect(state()).toMatchObject({ at: now, partitions: [{ next: 40, filled: false }] });
  sink.filled(0);
  await sink.save();
  expect(state()?.partitions[0]?.filled).toBe(true);
});

test("the last change of a key in a batch counts, in whatever order a batch comes again", async () => {
  const { collection, examples } = collectionInMemory();
  const sink = await openOn(collection);
  const [a, b] = [anExample({ request: "a" }), anExample({ request: "b" })];
  await sink.apply(0, [change(a), change(b), gone(a), gone(b), change(b)], 10);
  expect(examples()).toEqual(["b"]);
  await sink.apply(0, [change(a), gone(b)], 20);
  await sink.apply(0, [change(a), gone(b)], 20);
  expect(examples()).toEqual(["a"]);
});

test("other models' examples are embedded again; a text without a vector, or too long for a row, leaves", async () => {
  const { collection, examples, vectors } = collectionInMemory();
  const asked: string[] = [];
  const embedAll = (texts: readonly string[]): Promise<Float32Array[]> => {
    if (texts.includes("strange")) return Promise.reject(new EmbedderError("not_finite", "NaN"));
    asked.push(...texts);
    return Promise.resolve(texts.map(() => axis(3)));
  };
  const sink = await openOn(collection, { embedAll });
  const other = (request: string): Example => anExample({ request, embeddingModel: "other" });
  const long = anExample({ request: "long" });
  await sink.apply(0, [change(other("one")), change(other("strange")), change(other("two")), change(long)], 10);
  expect(examples().sort()).toEqual(["long", "one", "two"]);
  expect(asked.sort()).toEqual(["one", "two"]);
  expect(vectors().filter((vector) => vector[3] === 1)).toHaveLength(2);
  await sink.apply(0, [change({ ...long, response: "ß".repeat(33_000) })], 20);
  expect(examples().sort()).toEqual(["one", "two"]);
});

test("a failed write is repeated by the caller and moves no position", async () => {
  const { collection } = collectionInMemory();
  const sink = await openOn(collection);
  const { upsert } = collection;
  collection.upsert = () => Promise.reject(new Error("away"));
  await expect(sink.apply(0, [change(anExample())], 10)).rejects.toThrow("away");
  expect(sink.position(0)).toBe(3);
  collection.upsert = upsert;
  await sink.apply(0, [change(anExample())], 10);
  expect(sink.position(0)).toBe(10);
});
