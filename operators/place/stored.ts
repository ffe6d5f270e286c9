// What ClickHouse has of a domain's living examples, page by page, as messages for the topic. Rejects as the ClickHouse port does.
import { embeddingToBytes } from "../../algorithms/embedding.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Example } from "../../schemas/types.ts";

interface Row extends Omit<Example, "embedding" | "source"> {
  vector: number[];
  sourceArm: string;
  sourceModel: string;
  sourceRequestId: string | null;
  timestamp: number;
}

export interface StoredExample {
  example: Example;
  /** Of its record on the topic, milliseconds since the epoch. */
  timestamp: number;
}

// Which ids come next is asked first, of the key alone: the rows of a large domain are then read page by page, not all of them for every page.
const selectIds = `
  SELECT DISTINCT example_id AS id FROM examples
  WHERE domain = {domain:String} AND example_id > {after:String} ORDER BY example_id LIMIT {limit:UInt32}`;

const selectPage = `
  SELECT example_id AS id, tenant, domain, request, response, embedding AS vector, embedding_model AS embeddingModel,
    source_arm AS sourceArm, source_model AS sourceModel, source_request_id AS sourceRequestId, quality, bytes,
    toUnixTimestamp64Milli(expires_at) AS expiresAt, replays, toUnixTimestamp64Milli(created_at) AS createdAt,
    toUnixTimestamp64Milli(kafka_timestamp) AS timestamp
  FROM examples FINAL
  WHERE domain = {domain:String} AND example_id > {after:String} AND example_id <= {upTo:String} AND NOT deleted
  ORDER BY example_id`;

/** In the order of their ids, those behind `after`. upTo: where to go on; null: these are the last. */
export async function storedExamples(
  clickhouse: Pick<ClickHouse, "query">,
  domain: string,
  after: string,
  limit: number,
): Promise<{ examples: StoredExample[]; upTo: string | null }> {
  const ids = await clickhouse.query<{ id: string }>(selectIds, { domain, after, limit });
  const upTo = ids.at(-1)?.id;
  if (upTo === undefined) return { examples: [], upTo: null };
  const rows = await clickhouse.query<Row>(selectPage, { domain, after, upTo });
  const examples = rows.map(({ timestamp, vector, sourceArm, sourceModel, sourceRequestId, ...row }) => ({
    timestamp,
    example: {
      ...row,
      embedding: embeddingToBytes(Float32Array.from(vector)),
      source: { arm: sourceArm, model: sourceModel, requestId: sourceRequestId },
    },
  }));
  return { examples, upTo: ids.length < limit ? null : upTo };
}

export async function countExamples(clickhouse: Pick<ClickHouse, "query">): Promise<number> {
  const [row] = await clickhouse.query<{ count: number }>(
    "SELECT count() AS count FROM examples FINAL WHERE NOT deleted",
  );
  return row?.count ?? 0;
}
