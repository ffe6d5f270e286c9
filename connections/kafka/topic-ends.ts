// The two ends of every partition: the high watermark, and the last stable offset before which no
// transaction is open. Records between them are kept from read-committed readers. kafkajs' admin
// client calls the last stable offset "high".
import type { BrokerLike } from "./kafkajs-internals.ts";
import type { Cluster } from "./kafkajs-cluster.ts";
import type { PartitionEnds } from "./port.ts";

const latest = -1;

/** Rejects while a leader is away. */
export async function topicEnds(cluster: Cluster, topic: string): Promise<PartitionEnds[]> {
  const leaders = await cluster.leaders(topic);
  const found = await Promise.all(
    leaders.map(async ({ broker, partitions }) => {
      // The stable end last: one that is below the other was so at that moment, and a transaction
      // is open there.
      const high = await endsOf(broker, topic, partitions, 0);
      const stable = await endsOf(broker, topic, partitions, 1);
      return partitions.map((partition) => ({
        partition,
        stable: known(stable, topic, partition),
        high: known(high, topic, partition),
      }));
    }),
  );
  return found.flat().sort((one, other) => one.partition - other.partition);
}

async function endsOf(
  broker: BrokerLike,
  topic: string,
  partitions: readonly number[],
  isolationLevel: 0 | 1,
): Promise<Map<number, number>> {
  const { responses } = await broker.listOffsets({
    isolationLevel,
    topics: [{ topic, partitions: partitions.map((partition) => ({ partition, timestamp: latest })) }],
  });
  const offsets = responses.flatMap((response) => response.partitions);
  return new Map(offsets.map(({ partition, offset }) => [partition, Number(offset)]));
}

function known(ends: ReadonlyMap<number, number>, topic: string, partition: number): number {
  const end = ends.get(partition);
  if (end === undefined) throw new Error(`the broker said nothing of ${topic}-${partition}`);
  return end;
}
