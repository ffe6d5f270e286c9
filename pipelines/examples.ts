// The examples that a process searches: embedder and pool, in memory or in Milvus. In memory it
// holds all of them; the store is under the stack's folder, so that a restart reads only the tail.
import { join } from "node:path";
import { followExamples } from "../state/examples/follow-examples.ts";
import { createPool } from "../state/examples/pool.ts";
import type { ExamplePool } from "../state/examples/port.ts";
import { createVectorIndexes } from "../state/vectors/create.ts";
import { observePool } from "../state/examples/metrics.ts";
import { followPartitions, type TableChange } from "../runtime/table.ts";
import type { Example } from "../schemas/types.ts";
import type { SessionOf } from "../state/session.ts";
import { openEmbedder } from "./embedder.ts";
import type { HeldExamples, HoldOptions } from "./held-examples.ts";

/** Tombstones stay a day (delete.retention.ms): what is older is read anew. */
const maxAgeMs = 0.9 * 86_400_000;

export async function holdExamples(
  session: SessionOf<{ tables: ["examples"] }>,
  options: HoldOptions,
): Promise<HeldExamples> {
  if (session.config.selection.index === "memory") return holdInMemory(session, options);
  const { holdRemoteExamples } = await import("./remote-examples.ts");
  return holdRemoteExamples(session, options);
}

/** Rejects without the embedding model. */
export async function holdInMemory(
  session: SessionOf<{ tables: ["examples"] }>,
  { instance, stage, log }: HoldOptions,
): Promise<HeldExamples & { pool: ExamplePool }> {
  const { config, kafka, codec } = session;
  const topic = session.topic("examples");
  const embedder = await openEmbedder(config, { log });
  const pool = await createPool({
    folder: join(config.stack.folder, "pools", topic, `${instance}.${stage}`),
    embedder,
    clusterId: await kafka.clusterId(),
    maxAgeMs,
    openIndexes: () => createVectorIndexes(embedder.dimension, log),
    log,
  }).catch(async (error: unknown) => {
    await embedder.close();
    throw error;
  });
  const follower = followPartitions({
    kafka,
    codec,
    log,
    topic,
    record: "examples",
    async apply(changes, { partition, next }) {
      const refused = await pool.apply(partition, changes.map(toChange), BigInt(next));
      for (const { id, reason } of refused) log.warn({ example: id, reason }, "an example is left out of the pool");
    },
    async onRewound(partition) {
      log.warn({ partition }, "the broker does not know the pool's position any more: the partition is read anew");
      await pool.release(partition);
    },
  });
  const followed = await followExamples({ follower, pool, spans: () => kafka.spans(topic), log });
  const observing = observePool({ registry: session.metrics, stage, pool, embedder });
  return {
    ...{ embedder, pool },
    restored: followed.restored,
    async stop() {
      observing.stop();
      await followed.stop();
      await follower.stop();
      await pool.close();
      await embedder.close();
    },
  };
}

function toChange({ key, value }: TableChange<Example>): { id: string; domain: string; value: Example | null } {
  const slash = key.lastIndexOf("/");
  return { id: key.slice(slash + 1), domain: key.slice(0, Math.max(0, slash)), value };
}
