// A verb of curate: publishes how often each example is shown, in steps of powers of two, with the
// example. Orders of prompts follow it (algorithms/selection/example-order.ts). Rejects as the
// ClickHouse port does.
import { embeddingToBytes } from "../../algorithms/selection/embedding.ts";
import { shownStep } from "../../algorithms/selection/shown-count.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { ExamplePool } from "../../state/examples/port.ts";
import type { ExampleChange } from "../example-change.ts";

export interface CountDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  /** What curate holds; opened when a count has changed. */
  examples(): Promise<{ pool: Pick<ExamplePool, "get"> }>;
}

export interface CountingDependencies {
  count: () => Promise<ExampleChange[]>;
  publish: (changes: readonly ExampleChange[]) => Promise<void>;
}

export const nothingCounted: { counted: ExampleChange[] } = { counted: [] };

export const createCounting =
  ({ count, publish }: CountingDependencies) =>
  async (): Promise<{ counted: ExampleChange[] }> => {
    const counted = await count();
    await publish(counted);
    return { counted };
  };

interface Row {
  id: string;
  uses: number;
  published: number;
  vector: number[];
  embeddingModel: string;
}

/** Each is a record of about 2 kB. */
const mostAtOnce = 500;

// Which may have another step by shownStep(); the most shown first, as they stand first in prompts.
const selectCounts = `
  SELECT example.id AS id, used.uses AS uses, example.published AS published,
    example.vector AS vector, example.embeddingModel AS embeddingModel
  FROM (
    SELECT example_id AS id, shown AS published, embedding AS vector, embedding_model AS embeddingModel
    FROM examples FINAL WHERE NOT deleted
  ) AS example
  GLOBAL LEFT JOIN (
    SELECT example_id AS id, count() AS uses FROM example_uses FINAL
    WHERE created_at >= toStartOfHour(now('UTC')) - INTERVAL 336 HOUR GROUP BY example_id
  ) AS used ON used.id = example.id
  WHERE uses >= 2 * greatest(published, 1) OR uses < published / 2
  ORDER BY greatest(uses, published) DESC, id LIMIT {limit:UInt32}`;

export function createCount({ clickhouse, examples }: CountDependencies): () => Promise<ExampleChange[]> {
  return async function count() {
    const rows = await clickhouse.query<Row>(selectCounts, { limit: mostAtOnce });
    if (rows.length === 0) return [];
    const { pool } = await examples();
    return rows.flatMap(({ id, uses, vector, embeddingModel }): ExampleChange[] => {
      // What left since it was recorded must not come back, and what changed stays changed.
      const held = pool.get(id);
      if (held === undefined) return [];
      const shown = shownStep(uses, held.shown);
      if (shown === held.shown) return [];
      const embedding = embeddingToBytes(Float32Array.from(vector));
      return [{ id, domain: held.domain, value: { ...held, shown, embedding, embeddingModel } }];
    });
  };
}
