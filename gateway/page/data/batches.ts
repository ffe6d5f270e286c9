// Batches of all tenants, newest first: progress, and cost of the recorded answers.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import { batchObject, statusOf, type BatchStatus } from "../../batches/objects.ts";
import { requestIdOf } from "../../batches/recorded.ts";
import type { StoredBatch } from "../../batches/table.ts";

export interface BatchRow {
  id: string;
  tenant: string;
  status: BatchStatus;
  /** Name of its file. */
  file: string;
  createdAt: number;
  expiresAt: number;
  finishedAt: number | null;
  /** Lines. */
  total: number;
  completed: number;
  failed: number;
  /** Cost of the recorded answers; null: not known. */
  cost: number | null;
  /** Why it failed; empty: it did not. */
  problem: string;
}

export interface BatchList {
  rows: BatchRow[];
  /** Batches that fit; more than are listed where they are many. */
  found: number;
}

const mostShown = 50;
/** Answers of which the cost is summed, at most; one batch has up to 50,000. */
const mostSummed = 1_000_000;

export async function readBatches(
  clickhouse: Pick<ClickHouse, "query">,
  batches: readonly StoredBatch[],
  tenant = "",
): Promise<BatchList> {
  const found = batches
    .filter((batch) => tenant === "" || batch.tenant === tenant)
    .toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
  const shown = found.slice(0, mostShown);
  const costs = await readCosts(clickhouse, shown);
  return { rows: shown.map((batch) => rowOf(batch, costs.get(batch.id) ?? null)), found: found.length };
}

function rowOf(batch: StoredBatch, cost: number | null): BatchRow {
  const { id, tenant, createdAt, file, order, progress } = batch;
  const { total, completed, failed } = batchObject(batch).request_counts;
  const [problem] = file.problems;
  return {
    ...{ id, tenant, createdAt, cost, total, completed, failed, status: statusOf(batch) },
    ...{ file: file.name, expiresAt: order.expiresAt },
    finishedAt: progress?.result?.finishedAt ?? null,
    problem: problem === undefined ? "" : `line ${problem.line}: ${problem.message}`,
  };
}

/** By batch. Ids of a batch's requests begin with its own: each is one range of the primary key. */
async function readCosts(
  clickhouse: Pick<ClickHouse, "query">,
  batches: readonly StoredBatch[],
): Promise<ReadonlyMap<string, number>> {
  let lines = 0;
  const summed = batches.filter(({ file }) => (lines += file.lines) <= mostSummed);
  if (summed.length === 0) return new Map();
  const ranges = summed.map(
    (_, i) => `request_id >= {first${i}:String} AND request_id <= {last${i}:String} AND tenant = {tenant${i}:String}`,
  );
  const parameters = summed.flatMap(({ id, tenant }, i) => [
    ...[[`first${i}`, requestIdOf(id, 0)] as const, [`last${i}`, requestIdOf(id, 999_999_999)] as const],
    [`tenant${i}`, tenant] as const,
  ]);
  const rows = await clickhouse.query<{ id: string; cost: number }>(
    `SELECT id, sum(cost) AS cost FROM (
       SELECT substring(request_id, 1, length(request_id) - 10) AS id, any(cost) AS cost FROM responses
       WHERE ((${ranges.join(") OR (")})) AND NOT duplicate GROUP BY request_id, tenant
     ) GROUP BY id LIMIT ${mostShown}`,
    Object.fromEntries(parameters),
  );
  const known = new Map(rows.map(({ id, cost }) => [id, cost]));
  return new Map(summed.map(({ id }) => [id, known.get(id) ?? 0]));
}
