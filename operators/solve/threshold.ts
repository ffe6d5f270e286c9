// The threshold that earned most (docs/design/selection.md, The threshold): surely above the one in
// force by mean reward less the tokens' price. Pure.
import type { ChosenThreshold, ThresholdGain, ThresholdOutcome } from "../learnt.ts";

export interface ThresholdConfig {
  /** Rewarded requests that a tau, and the one in force, must have been tried on. */
  minimumRequests: number;
  tokenPrice: number;
}

/** Standard errors by which another tau must be ahead: five are looked at repeatedly. */
const surely = 3;

export interface ChooseDependencies {
  aggregate: () => Promise<ThresholdOutcome[]>;
  /** tau of the newest version. */
  inForce: () => number;
  choosing: ThresholdConfig;
}

export function createChoose({ aggregate, inForce, choosing }: ChooseDependencies) {
  return async function choose(): Promise<{ chosen: ChosenThreshold }> {
    return { chosen: chooseThreshold(await aggregate(), inForce(), choosing) };
  };
}

/** The one in force stays unless it was measured itself. */
export function chooseThreshold(
  outcomes: readonly ThresholdOutcome[],
  current: number,
  { minimumRequests, tokenPrice }: ThresholdConfig,
): ChosenThreshold {
  const grid = outcomes.map((outcome) => gainOf(outcome, tokenPrice / 1_000));
  const measured = grid.filter(({ requests }) => requests >= minimumRequests && requests > 1);
  const inForce = measured.find(({ tau }) => Math.abs(tau - current) < 1e-6);
  let best = { threshold: current, grid, better: 0 };
  if (inForce === undefined) return best;
  let bound = 0;
  for (const other of measured) {
    const difference = other.gain - inForce.gain;
    const lower = difference - surely * Math.hypot(other.error, inForce.error);
    if (other === inForce || lower <= bound) continue;
    bound = lower;
    best = { threshold: other.tau, grid, better: difference };
  }
  return best;
}

function gainOf(outcome: ThresholdOutcome, price: number): ThresholdGain {
  const { tau, requests, meanReward, meanTokens, rewardVariance, tokensVariance, covariance } = outcome;
  const variance = rewardVariance - 2 * price * covariance + price * price * tokensVariance;
  return {
    tau,
    requests,
    gain: meanReward - price * meanTokens,
    // Rounding may leave a constant with less than no variance.
    error: Math.sqrt(Math.max(0, variance) / Math.max(1, requests - 1)),
  };
}
