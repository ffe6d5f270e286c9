// What overload subtracts from an arm's score: lambda0 tanh(gamma max(0, L - L*)) C_i (IC-Cache section 4.2, appendix A.2 eq. 9).
// It acts only above the threshold and never touches the learnt model.

export interface LoadBias {
  /** L*: load up to which quality alone counts. */
  threshold: number;
  /** Steepness above it, > 0. */
  gamma: number;
  /** Weight at saturation, in quality per unit of normalised cost, >= 0. */
  lambda0: number;
}

/** How hard overload presses, [0, 1): the magnitude that autoscaling watches. A load that is not finite counts as none. */
export function pressure(load: number, { threshold, gamma }: LoadBias): number {
  return Number.isFinite(load) ? Math.tanh(gamma * Math.max(0, load - threshold)) : 0;
}

/** The penalty of an arm with normalised cost C_i in [0, 1]; to be subtracted from its score. */
export const loadPenalty = (load: number, cost: number, bias: LoadBias): number =>
  bias.lambda0 * pressure(load, bias) * cost;

/** Costs closer than this to the cheapest count as equally cheap. */
const SAME_COST = 0.01;

/**
 * The least lambda0 with which the cheapest arm beats every dearer one by `margin` in full overload, whatever the qualities:
 * (largestGap + margin) / (smallest cost difference from the cheapest). The paper's Theorem 4 claims the limit for any lambda0; tanh
 * saturates, so it needs this condition. 0 when all arms cost the same.
 */
export function defaultLambda0(costs: readonly number[], largestGap = 1, margin = 0.1): number {
  const cheapest = Math.min(...costs);
  const gaps = costs.map((cost) => cost - cheapest).filter((gap) => gap > SAME_COST);
  return gaps.length === 0 ? 0 : (largestGap + margin) / Math.min(...gaps);
}
