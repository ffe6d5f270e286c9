// Versions of policies, their estimated values, and variants of experiments.
import type { Rival } from "../../../../algorithms/off-policy/rival.ts";
import type { VariantFigures } from "../../../../algorithms/off-policy/variant-verdict.ts";

export interface PolicyVersion {
  name: string;
  version: number;
  kind: string;
  createdAt: number;
  trainedThrough: number | null;
  /** The version that it repeats: learning is paused while it is the newest. */
  revertOf: number | null;
  metrics: Record<string, number>;
  /** Whether `revert` to it, or from it, is possible at all. */
  revertible: boolean;
}

interface Estimated {
  decisions: number;
  ips: number | null;
  snips: number | null;
  /** The 95 % interval is snips -+ this. */
  snipsReach: number | null;
  effective: number | null;
  unsupported: number | null;
}

export interface PolicyValues {
  evaluations: (Estimated & {
    evaluation: string;
    policy: string;
    at: number;
    dr: number | null;
    drReach: number | null;
  })[];
  /** What always taking one arm would have earned; cost: the mean of an answer of it. */
  arms: (Estimated & { arm: string; cost: number | null; rival: Rival | null })[];
}

/** A variant of an experiment; units are the users, sessions, tenants or requests that keep it. */
export interface ExperimentVariant extends VariantFigures {
  experiment: string;
  units: number;
  requests: number;
  unanswered: number;
  /** Means of units; reward in [0, 1]. */
  reward: number | null;
  cost: number;
  totalMs: number;
  lastAt: number;
}
