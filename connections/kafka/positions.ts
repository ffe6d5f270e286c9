// Committed positions of a group, with the logs that they lie in.
import type { Admin } from "kafkajs";
import { splitOrigin } from "../../algorithms/identity/origin.ts";
import { unstableOffset } from "./kafkajs-fencing.ts";
import type { Logs } from "./logs.ts";
import type { Positions, TopicPartition } from "./port.ts";

export interface PositionOptions {
  admin: () => Promise<Admin>;
  logs: Logs;
  group: string;
}

/** Partitions whose position is not certain now are `waiting`. */
export async function readPositions(
  { admin, logs, group }: PositionOptions,
  partitions: readonly TopicPartition[],
): Promise<Positions> {
  const client = await admin();
  const names = [...new Set(partitions.map(({ topic }) => topic))];
  // Logs are read last, so that committed offsets are before their ends unless the log was
  // replaced.
  const committed = await client.fetchOffsets({ groupId: group, topics: names });
  const there = await logs.read(names);
  const found: Positions = { known: [], waiting: [] };
  for (const { topic, partition } of partitions) {
    const entry = committed.find((c) => c.topic === topic)?.partitions.find((p) => p.partition === partition);
    const current = there.get(topic);
    const span = current?.spans.get(partition);
    if (entry === undefined || span === undefined || current === undefined)
      found.waiting.push({ topic, partition, why: "the broker does not know it" });
    else if (entry.offset === unstableOffset)
      found.waiting.push({ topic, partition, why: "an open transaction is about to move it" });
    else {
      const offset = Number(entry.offset);
      found.known.push({
        topic,
        partition,
        offset: offset < 0 ? undefined : offset,
        ...splitOrigin(entry.metadata ?? ""),
        ...span,
        current: current.origin,
      });
    }
  }
  return found;
}
