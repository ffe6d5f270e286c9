// What topics can lose, by how they were made.
import type { Kafka } from "../connections/kafka/port.ts";
import type { Check } from "./doctor-check.ts";

/** Topics that keep what they were made with, where the configuration would make safer ones now. */
export function weakTopics({ wanted, found }: Awaited<ReturnType<Kafka["durability"]>>): Partial<Check> {
  const weak = [...found].filter(
    ([, has]) => has.replicationFactor < wanted.replicationFactor || has.minInsyncReplicas < wanted.minInsyncReplicas,
  );
  const [first] = weak;
  if (first === undefined) return {};
  const [name, has] = first;
  return {
    state: "lacking",
    detail:
      `${weak.length} of ${found.size} topics can lose what was acknowledged, e.g. ${name} ` +
      `(${has.replicationFactor} copies, min.insync.replicas ${has.minInsyncReplicas}; ` +
      `new topics get ${wanted.replicationFactor} and ${wanted.minInsyncReplicas})`,
    remedy:
      "kafka-reassign-partitions.sh for the copies, then kafka-configs.sh --alter --entity-type topics " +
      `--add-config min.insync.replicas=${wanted.minInsyncReplicas} --entity-name <topic>`,
  };
}

export const committedOffsets = "__consumer_offsets";
const quicklyReadBytes = 16 * 1_048_576;

/** Single brokers that read groups slowly can forget commits (docs/stack.md). */
export function slowCoordinator({ found }: Pick<Awaited<ReturnType<Kafka["durability"]>>, "found">): Partial<Check> {
  const { replicationFactor = 0, segmentBytes = 0 } = found.get(committedOffsets) ?? {};
  if (replicationFactor !== 1 || segmentBytes <= quicklyReadBytes) return {};
  return {
    state: "lacking",
    detail: `${committedOffsets} has one copy and segments of ${Math.round(segmentBytes / 1_048_576)} MiB: a broker that is killed may come back with old committed positions`,
    remedy: `kafka-configs.sh --alter --entity-type topics --add-config segment.bytes=1048576 --entity-name ${committedOffsets}`,
  };
}

export const clientTopics = ["requests", "feedback", "observations"] as const;

/** Topics that existed before and are dated by their producers' clocks (docs/operations.md). */
export function clientStamps(
  { found }: Pick<Awaited<ReturnType<Kafka["durability"]>>, "found">,
  topics: readonly string[],
): Partial<Check> {
  const stamped = topics.filter((topic) => found.get(topic)?.stampedBy === "producer");
  const [first] = stamped;
  if (first === undefined) return {};
  return {
    state: "lacking",
    detail: `${stamped.join(", ")}: records are dated by their producers, whose clocks may be wrong (message.timestamp.type=CreateTime)`,
    remedy: `kafka-configs.sh --alter --entity-type topics --add-config message.timestamp.type=LogAppendTime --entity-name ${first}`,
  };
}
