// How far record is: highest offset of every partition in its topic's own table, which is written
// last, of the present topic and cluster.
import { originText, parseOrigin, sameOrigin, unknownOrigin, type Origin } from "../../algorithms/identity/origin.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { groupBy } from "../../algorithms/lists/lists.ts";

interface TopicPartition {
  topic: string;
  partition: number;
  origin?: Origin;
}

export interface StoredOffset {
  offset: number | undefined;
  /** There are rows, but of another topic or cluster: of this one nothing is stored. */
  anotherTopic?: boolean;
}

interface Stored {
  origin: string;
  offset: number;
}

export const selectStored = (table: string): string =>
  `SELECT kafka_partition AS partition, kafka_origin AS origin, max(kafka_offset) AS offset FROM ${table}
       WHERE topic = {topic:String} GROUP BY kafka_partition, kafka_origin`;

/** Rows of this origin; else those of unknown origin, unless they are another topic's. */
export function storedUnder(stored: readonly Stored[], current: Origin): StoredOffset {
  const exact = stored.find(({ origin }) => origin === originText(current));
  if (exact !== undefined && exact.origin !== "") return { offset: exact.offset };
  if (stored.some(({ origin }) => !sameOrigin(parseOrigin(origin), current)))
    return { offset: undefined, anotherTopic: true };
  return { offset: stored.length === 0 ? undefined : Math.max(...stored.map(({ offset }) => offset)) };
}

/** tableOf: the table of a topic (with its prefix). Rejects as the port does. */
export function createStoredOffsets(
  clickhouse: Pick<ClickHouse, "query">,
  tableOf: (topic: string) => string,
): (partitions: readonly TopicPartition[]) => Promise<({ topic: string; partition: number } & StoredOffset)[]> {
  async function highest(topic: string): Promise<Map<number, Stored[]>> {
    const rows = await clickhouse.query<Stored & { partition: number }>(selectStored(tableOf(topic)), { topic });
    const stored = rows.map((row) => ({ ...row, offset: Number(row.offset) }));
    return groupBy(stored, ({ partition }) => partition);
  }

  return async function storedOffsets(partitions) {
    const topics = [...new Set(partitions.map(({ topic }) => topic))];
    const found = new Map(await Promise.all(topics.map(async (topic) => [topic, await highest(topic)] as const)));
    return partitions.map(({ topic, partition, origin = unknownOrigin }) => ({
      topic,
      partition,
      ...storedUnder(found.get(topic)?.get(partition) ?? [], origin),
    }));
  };
}
