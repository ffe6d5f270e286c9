import { afterAll, describe, expect, test } from "vitest";
import { pino } from "pino";
import { openMilvus } from "../../../connections/milvus/collection.ts";
import { startLite } from "../../../connections/milvus/lite.testing.ts";
import type { MilvusCollection } from "../../../connections/milvus/port.ts";
import { cleanUp, testPool } from "../pool.testing.ts";
import { anExample, axis } from "../examples.testing.ts";
import { describeExamples, type Source } from "./contract.testing.ts";
import { createPopular } from "./popular.ts";
import { createSearch } from "./read.ts";
import { openSink } from "./sink.ts";
import { stateKeys, stateOf } from "./rows.ts";

afterAll(cleanUp);

describeExamples(
  "in this process",
  async () => {
    const pool = await testPool();
    const next = [0n, 0n];
    return {
      search: pool,
      apply: async (partition, changes) => {
        await pool.apply(partition, changes, (next[partition]! += 1n));
      },
    };
  },
  30,
);

const lite = await startLite();
describe.skipIf("reason" in lite)(
  `on milvus-lite${"reason" in lite ? ` (${lite.reason})` : ""}`,
  { timeout: 120_000 },
  () => {
    if ("reason" in lite) return;
    const opened: MilvusCollection[] = [];
    const topic = { topic: "examples", cluster: "c", topicId: "t" };
    const embedder = { model: "test", dimension: 4, embedAll: () => Promise.reject(new Error("embeds nothing")) };
    const log = pino({ level: "silent" });
    const spans = [0, 1].map((partition) => ({ partition, beginning: 0, end: 1_000_000 }));
    const open = (collection: string): MilvusCollection => {
      const made = openMilvus({ address: lite.address, token: "", database: "default", collection });
      opened.push(made);
      return made;
    };
    const sinkOn = (collection: MilvusCollection, over: object = {}) =>
      openSink({ ...{ collection, embedder, topic, spans, clock: Date.now, log }, ...over });
    afterAll(async () => {
      for (const collection of opened) await collection.close();
      await lite.stop();
    });

    async function start(): Promise<Source> {
      const collection = open("contract");
      const sink = await sinkOn(collection);
      const withdrawn = { has: () => false, size: () => 0, isComplete: () => true };
      const search = createSearch({ collection, popular: createPopular(), withdrawn, limitMs: 10_000, strong: true });
      let next = 0;
      return {
        search: {
          nearest: (domain, vector, k, now) => search(domain, vector, k, { generation: sink.generation(), now }),
        },
        apply: (partition, changes) =>
          sink.apply(
            partition,
            changes.map(({ id, domain, value }) => ({ key: `${domain}/${id}`, value })),
            ++next,
          ),
      };
    }
    describeExamples("in Milvus", start, 15);

    test("a collection is gone on with, or filled anew where it can't be; never another installation's", async () => {
      const collection = open("states");
      const first = await sinkOn(collection);
      const example = anExample({ tenant: "t" });
      await first.apply(0, [{ key: `${example.domain}/${example.id}`, value: example }], 7);
      await first.save();
      const second = await sinkOn(collection);
      expect([second.position(0), second.position(1), second.generation()]).toEqual([7, 0, first.generation()]);

      const anew = async (over: object): Promise<void> => {
        const before = stateOf(await collection.read(stateKeys, { timeoutMs: 10_000, strong: true }));
        const sink = await sinkOn(collection, { clock: () => (before?.at ?? 0) + 1_000, ...over });
        expect(sink.position(0)).toBe(0);
        expect(sink.generation()).not.toBe(before?.generation);
        expect((await collection.facts()).collection?.rows).toBe(0);
        await sink.apply(0, [{ key: `${example.domain}/${example.id}`, value: example }], 7);
        await sink.save();
      };
      await anew({ topic: { ...topic, topicId: "made anew" } });
      await anew({ spans: spans.map((span) => ({ ...span, end: 6 })) });
      await anew({ embedder: { ...embedder, model: "other", embedAll: () => Promise.resolve([axis(0, 4)]) } });
      await anew({ clock: () => Date.now() + 90_000_000 });
      await (await sinkOn(collection, { clock: () => Date.now() + 90_000_000 })).forget();
      await anew({ clock: () => Date.now() + 90_000_000 });
      for (const foreign of [{ topic: "other.examples" }, { cluster: "other" }])
        await expect(sinkOn(collection, { topic: { ...topic, ...foreign } })).rejects.toThrow(/another name/);
      expect((await collection.facts()).collection?.rows).toBeGreaterThan(0);
    });
  },
);
