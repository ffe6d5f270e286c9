// What a ranking of requests is worth as a router between two models, by RouteLLM's definitions
// (Ong et al. 2024, section 2): sent in the order of their scores to the large model, quality
// recovered against calls of the large model. PGR = (quality - small) / (large - small); APGR is
// the area under it, 0.5 for chance; CPT(p) is the least share of calls with PGR >= p. Pure.

/** Requests that are ranked among themselves, the ones to send to the large model first. */
export interface Ranking {
  /** Indices of the requests, highest score first. */
  order: Int32Array;
  /** ends[k] is 1 where the score after order[k] is another: within ties the order is chance. */
  ends: Uint8Array;
}

/** PGR at shares 0, 1/steps, ..., 1 of calls of the large model. */
export type Curve = Float64Array;

const steps = 400;

/** scores[i] is of request indices[i]; a score that is not finite counts as 0. */
export function rankingOf(indices: readonly number[], scores: readonly number[]): Ranking {
  const finite = scores.map((score) => (Number.isFinite(score) ? score : 0));
  const positions = indices.map((_, k) => k).sort((a, b) => finite[b]! - finite[a]! || a - b);
  return {
    order: Int32Array.from(positions, (k) => indices[k]!),
    ends: Uint8Array.from(positions, (k, at) => (finite[k] === finite[positions[at + 1] ?? -1] ? 0 : 1)),
  };
}

/**
 * One curve of several rankings (folds), whose thresholds are set at the same share of calls; gains
 * are large - small of each request, weights how often it counts. All NaN where the large model is
 * no better: there is no gap to recover.
 */
export function curveOf(rankings: readonly Ranking[], gains: Float64Array, weights: Float64Array): Curve {
  const curve = new Float64Array(steps + 1);
  let gap = 0;
  for (const { order, ends } of rankings) {
    let total = 0;
    for (const index of order) total += weights[index]!;
    if (total === 0) continue;
    let [reached, gain, at] = [0, 0, 1];
    let [blockWeight, blockGain] = [0, 0];
    for (let k = 0; k < order.length; k++) {
      const weight = weights[order[k]!]!;
      blockWeight += weight;
      blockGain += weight * gains[order[k]!]!;
      if (ends[k] === 0 && k + 1 < order.length) continue;
      // Linear within a block of ties: what drawing from it by chance gives in the mean.
      while (at <= steps && blockWeight > 0 && (at / steps) * total <= reached + blockWeight + 1e-9) {
        const inside = Math.min(1, ((at / steps) * total - reached) / blockWeight);
        curve[at]! += gain + inside * blockGain;
        at++;
      }
      reached += blockWeight;
      gain += blockGain;
      [blockWeight, blockGain] = [0, 0];
    }
    gap += gain;
  }
  return gap > 0 ? curve.map((value) => value / gap) : curve.fill(Number.NaN);
}

/** The mean of several curves: of repeated splits, say. */
export const meanCurve = (curves: readonly Curve[]): Curve =>
  Float64Array.from({ length: steps + 1 }, (_, k) => curves.reduce((sum, curve) => sum + curve[k]!, 0) / curves.length);

/** Area under the curve, by trapezoids. */
export function apgr(curve: Curve): number {
  let sum = 0;
  for (let k = 1; k <= steps; k++) sum += (curve[k - 1]! + curve[k]!) / 2;
  return sum / steps;
}

/** Least share of calls of the large model at which `part` of the gap is recovered; NaN: no gap. */
export function cpt(curve: Curve, part: number): number {
  for (let k = 0; k <= steps; k++) {
    if (!(curve[k]! >= part)) continue;
    if (k === 0) return 0;
    const before = curve[k - 1]!;
    return (k - 1 + (part - before) / (curve[k]! - before)) / steps;
  }
  return Number.NaN;
}
