// Opens examples in Milvus for plan and `precedent select`: the search with its cache, the end of
// the topic, and a poll of the collection's state every few seconds. Only the start waits for
// Milvus, and only briefly.
import type { Config } from "../config/schema.ts";
import type { MilvusCollection } from "../connections/milvus/port.ts";
import { withTimeout } from "../runtime/with-timeout.ts";
import { observePool } from "../state/examples/metrics.ts";
import { createRemotePool } from "../state/examples/remote/pool.ts";
import type { TableState } from "../state/examples/remote/rows.ts";
import type { SessionOf } from "../state/session.ts";
import { openEmbedder } from "./embedder.ts";
import type { HeldExamples, HoldOptions } from "./held-examples.ts";

const lookEveryMs = 5_000;
/** Longest wait of the start for the collection. */
const firstMs = 5_000;

/** Not imported where examples are in memory: its client takes half a second and 37 MB. */
export async function openCollection({ selection }: Pick<Config, "selection">): Promise<MilvusCollection> {
  if (selection.milvus === undefined) throw new Error("the configuration lets selection.index milvus pass without it");
  const { openMilvus } = await import("../connections/milvus/collection.ts");
  return openMilvus(selection.milvus);
}

/** The embedder and the collection; close both. */
export async function openEmbedderAndCollection(config: Config, log: HoldOptions["log"]) {
  const embedder = await openEmbedder(config, { log });
  const collection = await openCollection(config).catch(async (error: unknown) => {
    await embedder.close();
    throw error;
  });
  return { embedder, collection };
}

export async function topicIdentity({
  kafka,
  topic,
}: SessionOf<{ tables: ["examples"] }>): Promise<Pick<TableState, "topic" | "cluster" | "topicId">> {
  const name = topic("examples");
  const [cluster, origins] = await Promise.all([kafka.clusterId(), kafka.origins([name])]);
  return { topic: name, cluster, topicId: origins.get(name)?.topicId ?? "" };
}

export async function holdRemoteExamples(
  session: SessionOf<{ tables: ["examples"] }>,
  { stage, log }: Pick<HoldOptions, "stage" | "log">,
): Promise<HeldExamples> {
  const { config, kafka, metrics } = session;
  const topic = session.topic("examples");
  const identity = await topicIdentity(session);
  const { embedder, collection } = await openEmbedderAndCollection(config, log);
  const pool = createRemotePool({ collection, embedder, topic: identity, clock: Date.now, log });
  const follower = kafka.followTopic(topic, {
    onRecords(records, { partition }) {
      for (const { key, value, offset } of records)
        pool.onRecord(partition, offset, key?.toString() ?? "", value === null);
    },
  });
  const end = {
    async follow(partition: number, from: number): Promise<void> {
      const span = (await kafka.spans(topic)).find((one) => one.partition === partition);
      if (span === undefined) throw new Error(`the topic ${topic} has no partition ${partition}`);
      follower.follow(partition, Math.min(Math.max(from, span.beginning), span.end));
      await follower.caughtUp(partition);
    },
  };
  let stopped = false;
  let looking: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    looking = pool.look(end).then(() => {
      if (!stopped) timer = setTimeout(look, pool.isReady() ? lookEveryMs : lookEveryMs / 10).unref();
    });
  };
  look();
  const observing = observePool({ registry: metrics, stage, pool, embedder });
  return {
    ...{ embedder, pool },
    restored: () => withTimeout(firstMs, pool.ready),
    async stop() {
      stopped = true;
      clearTimeout(timer);
      observing.stop();
      await collection.close();
      await Promise.all([looking, follower.stop()]);
      await embedder.close();
    },
  };
}
