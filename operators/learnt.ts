// The values that flow through learn: what aggregate reads, what solve makes of it, what publish
// makes a version of.
import type { Posterior } from "../algorithms/routing/bandit.ts";
import type { ArmPosterior, Beliefs, DomainBeliefs } from "../state/policies/router.ts";

/** Weighted sums over the rewarded decisions of one arm and model. */
export interface ArmStatistics {
  /** Absent: of all tenants. */
  tenant?: string;
  arm: string;
  model: string;
  /** Sum of w x xT, packed lower triangle. */
  a: readonly number[];
  /** Sum of w r x. */
  b: readonly number[];
  weight: number;
  /** Sum of w r. */
  rewardSum: number;
  /** Sum of w r^2; absent: not known, and taken as the sum of w r, which it never exceeds. */
  squares?: number;
  count: number;
  /** Seconds since the epoch: the newest hour with a rewarded decision. */
  lastHour: number;
  newestAt: number;
}

/** Weighted sums over the rewarded decisions of one arm and model in one sharing domain. */
export interface DomainStatistics {
  domain: string;
  arm: string;
  model: string;
  /** Sum of w x. */
  x: readonly number[];
  weight: number;
  /** Sum of w r. */
  rewardSum: number;
}

export interface Pair {
  /** Absent where all tenants' comparisons count for all. */
  tenant?: string;
  first: string;
  firstModel: string;
  firstContext: readonly number[];
  second: string;
  secondModel: string;
  secondContext: readonly number[];
  /** 1: the first is better; 0.5: a tie; [0, 1]. */
  outcome: number;
  weight: number;
  /** Hour of the decision, seconds since the epoch. */
  hour: number;
  at: number;
}

export interface Solved {
  arms: ReadonlyMap<string, ArmPosterior>;
  /** Prior of arms without rewards, from what the others have in common; absent: nothing. */
  prior?: Posterior;
  /** Where each tenant's rewards count for that tenant alone: `arms` is empty then. */
  tenants?: ReadonlyMap<string, Beliefs>;
  domains?: ReadonlyMap<string, DomainBeliefs>;
  /** Rewarded decisions and comparisons behind it. */
  rewards: number;
  trainedThrough: number | null;
  metrics: Record<string, number>;
  /** Arms left to the prior, and why. */
  problems: readonly string[];
}

/** Rewarded requests that were served under one threshold. Variances are of the population. */
export interface ThresholdOutcome {
  /** [0, 1]. */
  tau: number;
  requests: number;
  meanReward: number;
  meanTokens: number;
  rewardVariance: number;
  tokensVariance: number;
  covariance: number;
}

export interface ThresholdGain {
  tau: number;
  requests: number;
  gain: number;
  /** One standard error of it. */
  error: number;
}

export interface ChosenThreshold {
  threshold: number;
  grid: ThresholdGain[];
  /** By how much its gain is above that of the one in force; 0 when it is the one in force. */
  better: number;
}

/** A verified case of an arm that reuses answers: was the answer the right one. */
export interface ReuseCase {
  id: string;
  domain: string;
  at: number;
  wrong: boolean;
}
