// The topics, made by us alone (auto.create is off), with room for the largest record.
import type { Admin } from "kafkajs";
import type { Logger } from "pino";
import { ownersOf, shortTopicName, type Topic, type TopicName, type TopicOwners } from "../../schemas/records.ts";
import { durabilityOf, type DurabilitySettings } from "./durability.ts";
import type { Logs } from "./logs.ts";
import { mostMessageBytes } from "./record-port.ts";
import { untilReachable } from "./retry.ts";

const mebibyte = 1024 * 1024;
const minute = 60_000;
const day = 24 * 60 * minute;
const timestampType = "message.timestamp.type";

export interface TopicSettings extends DurabilitySettings {
  prefix: string;
  partitions: number;
  /** Milliseconds that an answer may be kept at most; a day if absent. */
  cacheTtlMs?: number;
}

interface Shape {
  partitions?: number;
  /** Its producers date the records, as copies do. Elsewhere only the broker's clock counts. */
  producerTime?: boolean;
  config: Record<string, string>;
}

const compacted = {
  "cleanup.policy": "compact",
  "max.message.bytes": String(16 * mebibyte),
  "segment.ms": String(60 * minute),
  // What was replaced or removed is gone by then, and not only once much else was, too.
  "max.compaction.lag.ms": String(day),
};
const limit = (mebibytes: number) => ({ "max.message.bytes": String(mebibytes * mebibyte) });
/** Compacted, and removed once they are so old. */
const expiring = (ms: number) => ({ ...compacted, "cleanup.policy": "compact,delete", "retention.ms": String(ms) });
const largest = { "max.message.bytes": String(mostMessageBytes) };

const shapes: Readonly<Record<TopicName | "locks", Shape>> = {
  requests: { config: limit(16) },
  // For as long as an id is recognised.
  "seen-ids": { config: { "retention.ms": String(day), "segment.ms": String(60 * minute) } },
  // What they take, and a tenant and an id beside it, fits into requests and feedback.
  "tenant-requests": { config: limit(15) },
  "tenant-feedback": { config: limit(15) },
  responses: { config: limit(16) },
  // Copies, and a copy fits where its original did.
  "tenant-responses": { config: limit(17) },
  // For comparison alone; what lasts is in ClickHouse.
  "alternative-answers": { config: { ...limit(16), "retention.ms": String(2 * day) } },
  "tenant-alternative-answers": { config: { ...limit(17), "retention.ms": String(2 * day) } },
  // Deltas are useless once the response is complete.
  deltas: { config: { "retention.ms": String(10 * minute), "segment.ms": String(5 * minute) } },
  "tenant-deltas": { config: { "retention.ms": String(10 * minute), "segment.ms": String(5 * minute) } },
  // Few records; every process that calls arms reads them all.
  cancels: { partitions: 1, config: { "retention.ms": String(10 * minute), "segment.ms": String(5 * minute) } },
  feedback: { config: limit(16) },
  // Few records, kept for good: withdrawals must hold when the tables are rebuilt.
  withdrawals: { partitions: 1, config: { "retention.ms": "-1" } },
  // Hashes only, kept for good: erased data must not come back when the tables are rebuilt.
  erasures: { partitions: 1, config: { "retention.ms": "-1" } },
  decisions: { config: limit(16) },
  work: { config: largest },
  // Retention is that of the longest TTL of a cache entry: what expires needs no tombstone.
  "response-cache": { config: { ...compacted, "cleanup.policy": "compact,delete" } },
  examples: { config: compacted, producerTime: true },
  policies: { config: compacted },
  observations: { config: largest },
  "example-replays": { config: {} },
  documents: { config: compacted },
  "kv-inventory": { config: expiring(30 * minute) },
  "inline-calls": { config: expiring(10 * minute) },
  breakers: { config: expiring(10 * minute) },
  // Few records, and in one order.
  keys: { partitions: 1, config: compacted },
  "prefill-samples": { config: {} },
  // Files and batches are kept for 30 days, as OpenAI's are; a day more than clients see them.
  batches: { partitions: 1, config: expiring(31 * day) },
  "batch-lines": { config: { ...limit(16), "retention.ms": String(31 * day) } },
  // No batch of a provider takes longer.
  "provider-batches": { partitions: 1, config: expiring(2 * day) },
  locks: { partitions: 1, config: { "retention.ms": String(60 * minute) } },
  "dead-letters": { config: largest },
};

/**
 * Batches stay as their producers wrote them, whatever the broker's default is. To write them anew
 * it would decompress them whole, and a megabyte that holds 800 ends its heap.
 */
const asProduced = { "compression.type": "producer" };

const brokerTime = ({ producerTime = false }: Shape): Record<string, string> =>
  producerTime ? {} : { [timestampType]: "LogAppendTime" };

/** Full name of a topic; `owner`: its arm or its tenant, where there is one for each. */
export const topicName = <N extends TopicName | "locks">(prefix: string, topic: N, owner?: string): Topic<N> =>
  (prefix + shortTopicName(topic, owner)) as Topic<N>;

/**
 * Creates missing topics and leaves existing ones unchanged; resolves when every new partition has
 * a leader that serves. `open`: a client that asks for topics once goes on asking for them, so
 * these get one of their own.
 */
export async function ensureTopics(
  { admin, open }: { admin: Admin; open: () => Logs },
  settings: TopicSettings,
  owners: TopicOwners,
  log: Logger,
): Promise<void> {
  const wanted = (Object.keys(shapes) as (keyof typeof shapes)[]).flatMap((topic) =>
    ownersOf(topic, owners).map((owner) => ({ name: topicName(settings.prefix, topic, owner), shape: shapes[topic] })),
  );
  const existing = new Set(await admin.listTopics());
  const missing = wanted.filter(({ name }) => !existing.has(name));
  if (missing.length === 0) return;
  const { replicationFactor, minInsyncReplicas } = durabilityOf(
    settings,
    (await admin.describeCluster()).brokers.length,
  );
  await admin.createTopics({
    // kafkajs' own waiting throws when a busy broker does not know the topic yet.
    waitForLeaders: false,
    timeout: 30_000,
    topics: missing.map(({ name, shape }) => ({
      topic: name,
      numPartitions: shape.partitions ?? settings.partitions,
      replicationFactor,
      configEntries: Object.entries({
        ...asProduced,
        ...brokerTime(shape),
        ...shape.config,
        ...(shape === shapes["response-cache"] ? { "retention.ms": String(settings.cacheTtlMs ?? day) } : {}),
        "min.insync.replicas": String(minInsyncReplicas),
      }).map(([key, value]) => ({ name: key, value })),
    })),
  });
  // The broker acknowledges before every leader serves.
  const logs = open();
  try {
    await untilReachable(
      async () => {
        const there = await logs.read(missing.map(({ name }) => name));
        const unknown = missing.find(({ name }) => (there.get(name)?.spans.size ?? 0) === 0);
        if (unknown !== undefined) throw new Error(`the broker does not know the topic ${unknown.name}`);
      },
      // A topic that exists and that we may not describe looks missing.
      { log, endsOnRefusal: true },
    );
  } finally {
    await logs.close();
  }
}
