// Feedback and decisions put straight into ClickHouse, as record would, and what learn must make of
// them, computed in plain TypeScript.
import {
  constantPrior,
  emptyStatistics,
  observe,
  solvePosterior,
  type Posterior,
} from "../../algorithms/routing/bandit.ts";
import type { Origin } from "../../algorithms/identity/origin.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { rowsOf } from "../../operators/decode/rows.ts";
import { aDecision } from "../../operators/values.testing.ts";
import { plainFeedback } from "../../schemas/plain-feedback.ts";
import type { Decision, Feedback } from "../../schemas/types.ts";

export const hourMs = 3_600_000;
export const start = Date.UTC(2026, 2, 1, 12);

let feedbackIds = 0;

export const feedbackOf = (requestId: string, more: Partial<Feedback> = {}): Feedback =>
  plainFeedback({ id: `f${++feedbackIds}`, requestId, kind: "thumbs", createdAt: start, ...more });

/** A decision for `arm` with context x; the other arm stands beside it. */
export const decisionOf = (requestId: string, arm: string, x: number[], more: Partial<Decision> = {}): Decision =>
  aDecision({
    ...{ requestId, partition: 0, offset: 0, tenant: "default", domain: "default/default" },
    arms: [arm, "other"].map((name) => ({
      arm: name,
      model: `${name}-model`,
      cost: 0.5,
      context: name === arm ? x : x.map(() => 9),
      mean: 0.5,
      deviation: 0.1,
      sampled: 0.5,
      bias: 0,
      saturation: 0,
      cachedShare: 0,
      probability: 0.5,
      examples: [],
      order: "best_last",
      orderProbability: 1,
      trial: null,
    })),
    arm,
    probability: 0.5,
    createdAt: start,
    ...more,
  });

export interface RecordingTable {
  feedback(...records: Feedback[]): Promise<void>;
  decisions(...records: Decision[]): Promise<void>;
}

/**
 * Inserts records at the next offsets of the topics t.feedback and t.decisions; a request's records
 * share a partition.
 */
export function recordInto(clickhouse: Pick<ClickHouse, "insert">, partitions = 3, origin?: Origin): RecordingTable {
  const ends = new Map<string, number>();
  const place = (topic: string, requestId: string, timestamp: number) => {
    const partition = Buffer.from(requestId).reduce((sum, byte) => sum + byte, 0) % partitions;
    const key = `${topic}/${partition}`;
    const offset = ends.get(key) ?? 0;
    ends.set(key, offset + 1);
    return { topic, partition, offset, timestamp, ...(origin === undefined ? {} : { origin }) };
  };
  return {
    async feedback(...records) {
      const rows = records.flatMap((record) =>
        rowsOf.feedback(record, place("t.feedback", record.requestId, record.createdAt)).flatMap((table) => table.rows),
      );
      await clickhouse.insert("feedback", rows);
    },
    async decisions(...records) {
      const rows = records.flatMap((record) =>
        rowsOf
          .decisions(record, place("t.decisions", record.requestId, record.createdAt))
          .flatMap(({ table, rows: own }) => (table === "decisions" ? own : [])),
      );
      await clickhouse.insert("decisions", rows);
    },
  };
}

/**
 * The rules of docs/design/routing.md (Feedback and rewards) read again, without looking at the
 * SQL: newest valid feedback per source and kind, weighted.
 */
export function rewardOf(feedback: readonly Feedback[]): { reward: number; weight: number } {
  const byId = new Map<string, Feedback>();
  for (const one of feedback) if (!byId.has(one.id)) byId.set(one.id, one);
  const all = [...byId.values()];
  const withdrawn = new Set(all.flatMap(({ withdraws }) => withdraws ?? []));
  const newest = new Map<string, { value: number; weight: number; at: number }>();
  for (const one of all) {
    const value = valueOf(one);
    const weight = { person: 1, system: 1, judge: 0.3 }[one.source];
    if (withdrawn.has(one.id) || value === null) continue;
    const key = `${one.source}/${one.kind}`;
    // Later in the log wins a tie.
    if (one.createdAt >= (newest.get(key)?.at ?? -Infinity)) newest.set(key, { value, weight, at: one.createdAt });
  }
  const counted = [...newest.values()];
  const weight = counted.reduce((sum, one) => sum + one.weight, 0);
  return { weight, reward: weight > 0 ? counted.reduce((sum, one) => sum + one.weight * one.value, 0) / weight : 0 };
}

function valueOf({ kind, value, range }: Feedback): number | null {
  const clip = (number: number): number | null => (Number.isFinite(number) ? Math.min(1, Math.max(0, number)) : null);
  if (kind === "correction") return 0;
  if (value === null || !Number.isFinite(value)) return null;
  if (kind === "thumbs") return clip((value + 1) / 2);
  if (kind === "reward") return clip(value);
  if (kind === "score" && range !== null) return clip((value - range.low) / (range.high - range.low));
  return null;
}

export interface DirectOptions {
  dimension: number;
  halfLifeHours: number;
  prior: { mean: number; variance: number; noise: number };
  /** 1 by default. */
  featureVersion?: number;
}

/** The posterior of each arm straight from the log: what the published one must equal. */
export function directPosteriors(
  decisions: readonly Decision[],
  feedback: readonly Feedback[],
  { dimension, halfLifeHours, prior, featureVersion = 1 }: DirectOptions,
): Map<string, Posterior & { count: number }> {
  const byRequest = new Map<string, Feedback[]>();
  for (const one of feedback) {
    const key = `${one.tenant}/${one.requestId}`;
    byRequest.set(key, [...(byRequest.get(key) ?? []), one]);
  }
  const hourOf = ({ createdAt }: Decision): number => Math.floor(createdAt / hourMs);
  const rewarded = decisions.flatMap((decision) => {
    const { reward, weight } = rewardOf(byRequest.get(`${decision.tenant}/${decision.requestId}`) ?? []);
    const x = decision.arms.find(({ arm }) => arm === decision.arm)?.context ?? [];
    const usable =
      weight > 0 && decision.featureVersion === featureVersion && x.length === dimension && x.every(Number.isFinite);
    return usable ? [{ decision, reward, weight, x }] : [];
  });
  const newest = Math.max(...rewarded.map(({ decision }) => hourOf(decision)));
  const arms = new Map<string, ReturnType<typeof emptyStatistics> & { count: number }>();
  for (const { decision, reward, weight, x } of rewarded) {
    const known = arms.get(decision.arm) ?? { ...emptyStatistics(dimension), count: 0 };
    const decayed = weight * 2 ** (-(newest - hourOf(decision)) / halfLifeHours);
    observe(known, x, reward, decayed);
    arms.set(decision.arm, { ...known, count: known.count + decayed });
  }
  const belief = constantPrior(dimension, prior.mean, prior.variance, prior.noise);
  return new Map([...arms].map(([arm, known]) => [arm, { count: known.count, ...solvePosterior(known, belief) }]));
}
