// How far the record stage is: the highest offset that ClickHouse has of every partition. Only rows of a topic's own table count, which are
// stored after those derived from the same record.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";

interface TopicPartition {
  topic: string;
  partition: number;
}

/** tableOf: the table of a topic (with its prefix). Rejects as the port does. */
export function createStoredOffsets(
  clickhouse: Pick<ClickHouse, "query">,
  tableOf: (topic: string) => string,
): (partitions: readonly TopicPartition[]) => Promise<(TopicPartition & { offset: number | undefined })[]> {
  async function highest(topic: string): Promise<Map<number, number>> {
    const rows = await clickhouse.query<{ partition: number; offset: number }>(
      `SELECT kafka_partition AS partition, max(kafka_offset) AS offset FROM ${tableOf(topic)}
       WHERE topic = {topic:String} GROUP BY kafka_partition`,
      { topic },
    );
    return new Map(rows.map(({ partition, offset }) => [partition, Number(offset)]));
  }

  return async function storedOffsets(partitions) {
    const topics = [...new Set(partitions.map(({ topic }) => topic))];
    const found = new Map(await Promise.all(topics.map(async (topic) => [topic, await highest(topic)] as const)));
    return partitions.map(({ topic, partition }) => ({ topic, partition, offset: found.get(topic)?.get(partition) }));
  };
}
