// What a process must know of a partition before it takes its first request: the ids of the last
// day, from ClickHouse. Records that record has not inserted yet are missing, so a repeat that
// follows its original by less than record's lag and crosses a rebalance is answered anew instead
// of copied: it still gets exactly one response.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { SEEN_FOR_MS, type SeenRequest } from "./seen.ts";

interface Row {
  tenant: string;
  id: string;
  partition: number;
  offset: number | string;
  seenAt: number | string;
  hash?: string;
}

const QUERY = `
  SELECT tenant, request_id AS id, kafka_partition AS partition, min(kafka_offset) AS offset,
         min(toUnixTimestamp64Milli(created_at)) AS seenAt, argMin(request_hash, kafka_offset) AS hash
  FROM requests
  WHERE topic = {topic:String} AND kafka_partition IN ({partitions:Array(Int32)})
    AND created_at >= fromUnixTimestamp64Milli({since:Int64})
  GROUP BY tenant, request_id, kafka_partition
  ORDER BY seenAt DESC LIMIT {limit:UInt32} BY kafka_partition`;

/**
 * topic: the requests topic with its prefix. limit: ids a partition, the newest. Rejects as the
 * port does.
 */
export async function restoreSeen(
  clickhouse: Pick<ClickHouse, "query">,
  topic: string,
  partitions: readonly number[],
  now: number,
  limit = 50_000,
): Promise<SeenRequest[]> {
  if (partitions.length === 0) return [];
  const rows = await clickhouse.query<Row>(QUERY, { topic, partitions, since: now - SEEN_FOR_MS, limit });
  return rows.map(({ tenant, id, partition, offset, seenAt, hash = "" }) => ({
    tenant,
    id,
    position: { topic, partition, offset: Number(offset) },
    seenAt: Number(seenAt),
    ...(hash === "" ? {} : { hash }),
  }));
}
