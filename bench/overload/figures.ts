// What a policy did before, during and after the overload. Pure.
import { mean, quantile } from "../support/statistics.ts";
import type { Outcome } from "./run.ts";

export const phases = ["before", "during", "after"] as const;
export type PhaseName = (typeof phases)[number];
type Each = Record<PhaseName, number>;

/** Figures of the requests that arrived in a phase, whenever they were answered. */
export interface PolicyFigures {
  p50_ms: Each;
  p99_ms: Each;
  /** Mean of the answers' quality; no answer is 0. */
  quality: Each;
  /** Share of the answers that came from the expensive arm. */
  dear_share: Each;
  requests: number;
  /** Answered with an error. */
  failed: number;
  /** Never answered. */
  lost: number;
}

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));

export function figuresOf(outcomes: readonly Outcome[]): PolicyFigures {
  const each = (figure: (of: Outcome[]) => number): Each =>
    Object.fromEntries(phases.map((name) => [name, figure(outcomes.filter(({ phase }) => phase === name))])) as Each;
  const late = (q: number) => (of: Outcome[]) =>
    rounded(
      quantile(
        of.map(({ latencyMs = Infinity }) => latencyMs),
        q,
      ),
      0,
    );
  return {
    p50_ms: each(late(0.5)),
    p99_ms: each(late(0.99)),
    quality: each((of) => rounded(mean(of.map(({ quality }) => quality)), 3)),
    dear_share: each((of) => rounded(mean(of.map(({ arm }) => Number(arm === "large"))), 3)),
    requests: outcomes.length,
    failed: outcomes.filter(({ arm, latencyMs }) => arm === null && latencyMs !== undefined).length,
    lost: outcomes.filter(({ latencyMs }) => latencyMs === undefined).length,
  };
}
