// Next examples of a replay run: by G(e), without those tried or replayed often enough, by their
// own count and by the records. Rejects as the ClickHouse port does.
import { embeddingToBytes } from "../../algorithms/selection/embedding.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Example } from "../../schemas/types.ts";
import { mostExampleReplays } from "./example-replay.ts";

interface Row extends Omit<Example, "embedding" | "source"> {
  gain: number;
  vector: number[];
  sourceArm: string;
  sourceModel: string;
  sourceRequestId: string | null;
}

const columns = `example.example_id AS id, example.tenant AS tenant, example.domain AS domain, example.request AS request, example.response AS response,
  example.embedding AS vector, example.embedding_model AS embeddingModel, example.source_arm AS sourceArm, example.source_model AS sourceModel,
  example.source_request_id AS sourceRequestId, example.quality AS quality, example.bytes AS bytes,
  toUnixTimestamp64Milli(example.expires_at) AS expiresAt, example.replays AS replays, toUnixTimestamp64Milli(example.created_at) AS createdAt`;

const selectTop = `
  SELECT ${columns}, ranked.gain AS gain
  FROM (SELECT * FROM examples FINAL WHERE NOT deleted AND replays < ${mostExampleReplays}) AS example
  GLOBAL INNER JOIN (SELECT example_id, gain FROM example_gain) AS ranked ON ranked.example_id = example.example_id
  WHERE (example.expires_at IS NULL OR example.expires_at > now64(3))
    AND id NOT IN (SELECT example_id FROM example_replays WHERE run_id = {run:String})
    AND id NOT IN (SELECT example_id FROM example_replays FINAL GROUP BY example_id HAVING count() >= ${mostExampleReplays})
    AND ({arms:Array(String)} = [] OR sourceArm IN {arms:Array(String)})
  ORDER BY gain DESC, id
  LIMIT {limit:UInt32}`;

const toExample = ({ gain: _gain, vector, sourceArm, sourceModel, sourceRequestId, ...row }: Row): Example => ({
  ...row,
  embedding: embeddingToBytes(Float32Array.from(vector)),
  source: { arm: sourceArm, model: sourceModel, requestId: sourceRequestId },
});

export interface Spent {
  tried: number;
  tokens: number;
  cost: number;
}

export function createRanking(clickhouse: Pick<ClickHouse, "query">) {
  return {
    /** arms: only examples whose answer came from these; empty: all. */
    async top(run: string, limit: number, arms: readonly string[]): Promise<{ example: Example; gain: number }[]> {
      const rows = await clickhouse.query<Row>(selectTop, { run, limit, arms });
      return rows.map((row) => ({ example: toExample(row), gain: row.gain }));
    },
    async spent(run: string): Promise<Spent> {
      const [row] = await clickhouse.query<Spent>(
        "SELECT count() AS tried, sum(tokens) AS tokens, sum(cost) AS cost FROM example_replays FINAL WHERE run_id = {run:String}",
        { run },
      );
      return row ?? { tried: 0, tokens: 0, cost: 0 };
    },
    /** Whether it still stands as it was read. */
    async stands({ id, domain, replays }: Example): Promise<boolean> {
      const rows = await clickhouse.query<{ replays: number }>(
        "SELECT replays FROM examples FINAL WHERE example_id = {id:String} AND domain = {domain:String} AND NOT deleted",
        { id, domain },
      );
      return rows[0]?.replays === replays;
    },
  };
}
