// What ClickHouse has of the living examples of domains: of small ones all, of large ones page by
// page. Rejects as the ClickHouse port does.
import { embeddingToBytes } from "../../algorithms/selection/embedding.ts";
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
  /** Timestamp of its record on the topic, milliseconds since the epoch. */
  timestamp: number;
}

type Queries = Pick<ClickHouse, "query">;

const selectCounts = `
  SELECT domain, uniqExact(example_id) AS count FROM examples WHERE domain IN {domains:Array(String)} GROUP BY domain`;

// Which ids come next is asked first, of the key alone: the rows of a large domain are then read
// page by page, not all of them for every page.
const selectIds = `
  SELECT DISTINCT example_id AS id FROM examples
  WHERE domain = {domain:String} AND example_id > {after:String} ORDER BY example_id LIMIT {limit:UInt32}`;

const selectExamples = `
  SELECT example_id AS id, tenant, domain, request, response, embedding AS vector, embedding_model AS embeddingModel,
    source_arm AS sourceArm, source_model AS sourceModel, source_request_id AS sourceRequestId, quality, bytes,
    toUnixTimestamp64Milli(expires_at) AS expiresAt, replays, toUnixTimestamp64Milli(created_at) AS createdAt,
    toUnixTimestamp64Milli(kafka_timestamp) AS timestamp
  FROM examples FINAL
  WHERE NOT deleted AND domain IN {domains:Array(String)}`;

const toStored = ({ timestamp, vector, sourceArm, sourceModel, sourceRequestId, ...row }: Row): StoredExample => ({
  timestamp,
  example: {
    ...row,
    embedding: embeddingToBytes(Float32Array.from(vector)),
    source: { arm: sourceArm, model: sourceModel, requestId: sourceRequestId },
  },
});

/** By domain, those that are gone counted as well; a domain without any is missing. */
export async function countByDomain(clickhouse: Queries, domains: readonly string[]): Promise<Map<string, number>> {
  const rows = await clickhouse.query<{ domain: string; count: number }>(selectCounts, { domains });
  return new Map(rows.map(({ domain, count }) => [domain, count]));
}

export async function examplesOf(clickhouse: Queries, domains: readonly string[]): Promise<StoredExample[]> {
  return (await clickhouse.query<Row>(selectExamples, { domains })).map(toStored);
}

/** The next ids behind `after` of one domain. upTo: where to go on; null: the end. */
export async function nextExamples(
  clickhouse: Queries,
  domain: string,
  after: string,
  limit: number,
): Promise<{ examples: StoredExample[]; upTo: string | null }> {
  const ids = await clickhouse.query<{ id: string }>(selectIds, { domain, after, limit });
  const upTo = ids.at(-1)?.id;
  if (upTo === undefined) return { examples: [], upTo: null };
  const rows = await clickhouse.query<Row>(
    `${selectExamples} AND example_id > {after:String} AND example_id <= {upTo:String}`,
    { domains: [domain], after, upTo },
  );
  return { examples: rows.map(toStored), upTo: ids.length < limit ? null : upTo };
}

export async function countExamples(clickhouse: Queries): Promise<number> {
  const [row] = await clickhouse.query<{ count: number }>(
    "SELECT count() AS count FROM examples FINAL WHERE NOT deleted",
  );
  return row?.count ?? 0;
}
