// How many records wait behind the committed positions of a stage, computed whenever it is asked
// for: the ends of its partitions as last seen, less what is committed.
import type { TopicPartition } from "../connections/kafka/port.ts";
import { partitionKey } from "./partition.ts";

export interface PartitionLag extends TopicPartition {
  records: number;
}

export type Lag = ReturnType<typeof createLag>;

export interface LagOptions {
  assigned: () => readonly TopicPartition[];
  /** undefined: not adopted yet. */
  committed: (topic: string, partition: number) => number | undefined;
}

export function createLag({ assigned, committed }: LagOptions) {
  const highs = new Map<string, number>();
  return {
    /** The high watermark of a partition, whenever the broker tells it. */
    saw: (topic: string, partition: number, high: number): void =>
      void highs.set(partitionKey({ topic, partition }), high),
    /** Lag of each assigned partition that is adopted and whose end was seen. */
    now(): readonly PartitionLag[] {
      const partitions = assigned();
      const keys = new Set(partitions.map(partitionKey));
      for (const key of highs.keys()) if (!keys.has(key)) highs.delete(key);
      return partitions.flatMap(({ topic, partition }) => {
        const high = highs.get(partitionKey({ topic, partition }));
        const position = committed(topic, partition);
        if (high === undefined || position === undefined) return [];
        return [{ topic, partition, records: Math.max(0, high - position) }];
      });
    },
  };
}
