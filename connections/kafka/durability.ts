// Replication factor and min.insync.replicas: as configured, or what is safe on the available
// brokers. Also reads these settings of existing topics, for comparison.
import type { Admin, ITopicMetadata } from "kafkajs";
import { ConfigResourceTypes } from "./kafkajs.ts";
import type { Durability, TopicRetention, TopicSafety } from "./port.ts";

/** As the configuration has it: what is absent follows from the cluster. */
export interface DurabilitySettings {
  replicationFactor?: number | undefined;
  minInsyncReplicas?: number | undefined;
}

/** What topics are made with. Throws where nothing could ever be written. */
export function durabilityOf(settings: DurabilitySettings, brokers: number): Durability {
  const replicationFactor = settings.replicationFactor ?? Math.max(1, Math.min(3, brokers));
  const minInsyncReplicas = settings.minInsyncReplicas ?? (replicationFactor >= 3 ? 2 : 1);
  if (replicationFactor > brokers)
    throw new Error(
      `kafka.replicationFactor is ${replicationFactor}, but the cluster has ${brokers} brokers: lower it, or leave it out`,
    );
  if (minInsyncReplicas > replicationFactor)
    throw new Error(
      `kafka.minInsyncReplicas is ${minInsyncReplicas}, but topics get ${replicationFactor} copies on ${brokers} brokers: ` +
        `nothing could be written; lower it, or set kafka.replicationFactor`,
    );
  return { replicationFactor, minInsyncReplicas };
}

const leastCopies = "min.insync.replicas";
const stampType = "message.timestamp.type";
const segmentBytes = "segment.bytes";
const cleanup = "cleanup.policy";
const retention = "retention.ms";
const segmentTime = "segment.ms";
const compactionLag = "max.compaction.lag.ms";
/** Kafka's "never". */
const longest = 9_223_372_036_854_775_000;

function retentionOf(settings: ReadonlyMap<string, string>): TopicRetention {
  const policy = settings.get(cleanup) ?? "delete";
  const limited = (name: string): number | null => {
    const ms = Number(settings.get(name) ?? -1);
    return ms < 0 || ms >= longest ? null : ms;
  };
  const compacts = policy.includes("compact");
  return {
    retentionMs: policy.includes("delete") ? limited(retention) : null,
    segmentMs: Number(settings.get(segmentTime) ?? 0),
    compactionLagMs: compacts ? limited(compactionLag) : null,
    compacts,
  };
}

/** Durability of existing topics, by name. */
export async function readDurability(admin: Admin, topics: readonly string[]): Promise<Map<string, TopicSafety>> {
  if (topics.length === 0) return new Map();
  const [{ topics: found }, { resources }] = await Promise.all([
    admin.fetchTopicMetadata({ topics: [...topics] }),
    admin.describeConfigs({
      includeSynonyms: false,
      resources: topics.map((name) => ({
        type: ConfigResourceTypes.TOPIC,
        name,
        configNames: [leastCopies, stampType, segmentBytes, cleanup, retention, segmentTime, compactionLag],
      })),
    }),
  ]);
  const settings = new Map(
    resources.map(({ resourceName, configEntries }) => [
      resourceName,
      new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
    ]),
  );
  return new Map(
    found.map(({ name, partitions }) => [
      name,
      {
        replicationFactor: copies(partitions),
        minInsyncReplicas: Number(settings.get(name)?.get(leastCopies) ?? 1),
        stampedBy: settings.get(name)?.get(stampType) === "LogAppendTime" ? "broker" : "producer",
        segmentBytes: Number(settings.get(name)?.get(segmentBytes) ?? 0),
        keeps: retentionOf(settings.get(name) ?? new Map()),
      },
    ]),
  );
}

const copies = (partitions: ITopicMetadata["partitions"]): number =>
  Math.min(...partitions.map(({ replicas }) => replicas.length));
