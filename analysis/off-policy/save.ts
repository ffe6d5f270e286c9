// Writes an evaluation's terms into policy_terms, which views of values and domains sum up.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { decisionsOf } from "../../algorithms/off-policy/log.ts";
import { leastSupport } from "../../algorithms/off-policy/weights.ts";
import type { ReadLog } from "./read.ts";

export interface SaveOptions {
  clickhouse: Pick<ClickHouse, "insert">;
  evaluation: string;
  names: readonly string[];
  read: ReadLog;
  predicted: Float64Array | undefined;
  cap: number;
  costWeight: number;
  now: number;
  signal: AbortSignal;
}

const batch = 5_000;

/** Rows written. A repeat of the same evaluation replaces them. */
export async function saveTerms(options: SaveOptions): Promise<number> {
  const { clickhouse, names, read, signal } = options;
  let written = 0;
  for (const index of names.keys())
    for (let from = 0; from < decisionsOf(read.log); from += batch) {
      signal.throwIfAborted();
      const to = Math.min(decisionsOf(read.log), from + batch);
      const rows = Array.from({ length: to - from }, (_, i) => rowOf(options, index, from + i));
      await clickhouse.insert("policy_terms", rows);
      written += rows.length;
    }
  return written;
}

function rowOf({ evaluation, names, read, predicted, cap, costWeight, now }: SaveOptions, index: number, i: number) {
  const { log, of, feedbackWeight } = read;
  const target = read.targets[index]!;
  const chosen = log.chosen[i]!;
  const reward = log.reward[i]!;
  let [direct, supported, total] = [0, 0, 0];
  for (let k = log.start[i]!; k < log.start[i + 1]!; k++) {
    if (predicted !== undefined) direct += target[k]! * (predicted[k]! - costWeight * log.cost[k]!);
    total += target[k]!;
    if (log.logged[k]! >= leastSupport) supported += target[k]!;
  }
  const cost = costWeight * log.cost[chosen]!;
  return {
    evaluation,
    policy: names[index]!,
    request_id: of.requestId[i]!,
    tenant: of.tenant[i]!,
    domain: of.domain[i]!,
    arm: log.arms[log.arm[chosen]!]!,
    logged: log.logged[chosen]!,
    target: target[chosen]!,
    unsupported: Math.max(0, total - supported),
    utility: Number.isNaN(reward) ? null : reward - cost,
    feedback_weight: feedbackWeight === undefined ? 1 : feedbackWeight[i]!,
    direct: predicted === undefined ? null : direct,
    predicted: predicted === undefined ? null : predicted[chosen]! - cost,
    cap: Number.isFinite(cap) ? cap : Number.MAX_VALUE,
    decided_at: of.decidedAt[i]!,
    evaluated_at: now,
  };
}
