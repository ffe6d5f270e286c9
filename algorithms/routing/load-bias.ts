// What overload subtracts from scores (docs/design/routing.md, Load; IC-Cache eq. 9): lambda0
// tanh(gamma max(0, L - L*)) C_i, and the same form for an arm's own utilisation.

export interface Load {
  /** L: mean utilisation of the arms more expensive than the cheapest; 0 when there are none. */
  costlier: number;
  /** Utilisation by name: unfinished over what it takes at a time, >= 0. Missing: idle. */
  byArm: ReadonlyMap<string, number>;
}

interface Pressing {
  /** L* or U*: up to it quality alone counts. */
  threshold: number;
  /** Steepness above it, > 0. */
  gamma: number;
}

/** Steepness of the penalty on expensive arms, and of that on an arm's own utilisation. */
export const loadGamma = 3;
export const saturationGamma = 1;

export interface LoadBias extends Pressing {
  /** Weight at saturation, in quality per unit of normalised cost, >= 0. */
  lambda0: number;
}

export interface SaturationBias extends Pressing {
  /** Weight at saturation, in quality, >= 0. */
  weight: number;
}

/** How hard overload presses, [0, 1); 0 for a load that is not finite. */
export function pressure(load: number, { threshold, gamma }: Pressing): number {
  return Number.isFinite(load) ? Math.tanh(gamma * Math.max(0, load - threshold)) : 0;
}

/** Penalty of an arm of normalised cost C_i at load L, [0, lambda0 C_i]. */
export const loadPenalty = (load: number, cost: number, bias: LoadBias): number =>
  bias.lambda0 * pressure(load, bias) * cost;

/** Penalty of an arm for its own utilisation, [0, weight]. */
export const saturationPenalty = (utilisation: number, bias: SaturationBias): number =>
  bias.weight * pressure(utilisation, bias);

/** The utilisation that gives this penalty; 0 for none. */
export function utilisationOf(penalty: number, { threshold, gamma, weight }: SaturationBias): number {
  if (!(penalty > 0) || !(weight > 0)) return 0;
  return threshold + Math.atanh(Math.min(penalty / weight, 1 - 1e-12)) / gamma;
}

/** Costs closer than this to the cheapest count as equally cheap. */
const SAME_COST = 0.01;
/** Qualities lie in [0, 1]. */
const LARGEST_GAP = 1;
/** By which a derived weight lets the wanted arm win. */
const MARGIN = 0.1;

/**
 * Least lambda0 with which the cheapest arm wins by `margin` in full overload: (largestGap +
 * margin) / (smallest cost difference). Theorem 4 of the paper lacks this condition. 0 when all
 * cost the same.
 */
export function defaultLambda0(costs: readonly number[], largestGap = LARGEST_GAP, margin = MARGIN): number {
  const cheapest = Math.min(...costs);
  const gaps = costs.map((cost) => cost - cheapest).filter((gap) => gap > SAME_COST);
  return gaps.length === 0 ? 0 : (largestGap + margin) / Math.min(...gaps);
}

/**
 * Least weight with which an idle arm beats a saturated one by `margin` at L = 0: largestGap +
 * margin + costWeight (lambda_c) x largest cost difference.
 */
export function defaultSaturationWeight(
  costs: readonly number[],
  costWeight: number,
  largestGap = LARGEST_GAP,
  margin = MARGIN,
): number {
  return largestGap + margin + costWeight * (Math.max(...costs) - Math.min(...costs));
}

export interface OverloadConfig {
  /** lambda_c. */
  costWeight: number;
  /** Load bias on expensive arms; weight absent: derived from the costs. */
  load: { threshold: number; weight?: number | undefined };
  /** The same for an arm's own utilisation. */
  saturation: { threshold: number; weight?: number | undefined };
}

/** Derived from the costs of all arms, so that overload presses alike on every request. */
export const overloadBiases = (
  costs: readonly number[],
  { load, saturation, costWeight }: OverloadConfig,
): { loadBias: LoadBias; saturationBias: SaturationBias } => ({
  loadBias: { threshold: load.threshold, gamma: loadGamma, lambda0: load.weight ?? defaultLambda0(costs) },
  saturationBias: {
    ...{ threshold: saturation.threshold, gamma: saturationGamma },
    weight: saturation.weight ?? defaultSaturationWeight(costs, costWeight),
  },
});
