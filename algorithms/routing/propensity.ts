// Exact probability that each of several independent normals is the largest: Thompson sampling's
// choice. Logged with every decision; a Monte Carlo estimate would bias estimates.
import { normalCdf, normalDensity } from "../numeric/gaussian.ts";

/** An arm's score ~ N(mean, deviation^2); deviation >= 0. */
export interface Score {
  mean: number;
  deviation: number;
}

/** Least probability reported for an arm that can win at all: a chosen arm never has 0. */
export const PROBABILITY_FLOOR = 1e-15;

/** Beyond this many deviations the tail (1e-19) is below the rounding. */
const REACH = 9;
/** Deviations of the narrowest arm that a panel spans: 16 nodes are exact to about 1e-14. */
const PANEL = 2;
/** Abscissae and weights of the 16-point Gauss-Legendre rule on [-1, 1], the positive half. */
const NODES = [
  [0.0950125098376374402, 0.1894506104550684963],
  [0.2816035507792589132, 0.1826034150449235889],
  [0.4580167776572273863, 0.1691565193950025382],
  [0.6178762444026437484, 0.1495959888165767321],
  [0.7554044083550030339, 0.1246289712555338721],
  [0.8656312023878317439, 0.0951585116824927848],
  [0.9445750230732325761, 0.0622535239386478929],
  [0.9894009349916499326, 0.0271524594117540949],
] as const;
const RULE = NODES.flatMap(([node, weight]) => [
  { at: (1 - node) / 2, weight: weight / 2 },
  { at: (1 + node) / 2, weight: weight / 2 },
]);

/**
 * P(score i is the largest), summing to 1; error below 1e-9. Arms without deviation are point
 * masses, ties share equally. RangeError for no arms, a negative deviation, not finite values.
 */
export function winProbabilities(scores: readonly Score[]): number[] {
  if (scores.length === 0) throw new RangeError("no arms to choose from");
  for (const { mean, deviation } of scores)
    if (!Number.isFinite(mean) || !Number.isFinite(deviation) || deviation < 0)
      throw new RangeError(`a score must be finite with a deviation >= 0, not N(${mean}, ${deviation}^2)`);

  // A deviation of a few units in the last place of its mean is none: the grid could not resolve
  // it.
  const fixed = scores.map(({ mean, deviation }) => deviation <= Math.abs(mean) * 2 ** -46 || deviation < 1e-290);
  const moving = scores.filter((_, i) => !fixed[i]);
  const best = Math.max(...scores.map(({ mean }, i) => (fixed[i] ? mean : -Infinity)));
  const winners = scores.filter(({ mean }, i) => fixed[i] && mean === best).length;

  const [one, other] = moving;
  const wins = moving.length === 2 && best === -Infinity ? winsOfTwo(one!, other!) : integrate(moving, best);
  const below = moving.reduce((product, { mean, deviation }) => product * normalCdf((best - mean) / deviation), 1);
  let next = 0;
  const raw = scores.map(({ mean }, i) => {
    if (!fixed[i]) return Math.max(wins[next++]!, PROBABILITY_FLOOR);
    return mean === best ? Math.max(below / winners, PROBABILITY_FLOOR) : 0;
  });
  const total = raw.reduce((sum, value) => sum + value, 0);
  return raw.map((value) => value / total);
}

/** The difference of two normals is one, too: no integral is needed. */
function winsOfTwo(one: Score, other: Score): [number, number] {
  const z = (one.mean - other.mean) / Math.hypot(one.deviation, other.deviation);
  return [normalCdf(z), normalCdf(-z)];
}

/** For each moving arm: integral over s > from of its density times the others' distributions. */
function integrate(arms: readonly Score[], from: number): Float64Array {
  const n = arms.length;
  const wins = new Float64Array(n);
  const cdf = new Float64Array(n);
  const density = new Float64Array(n);
  /** Product of cdf[j], j < i. */
  const before = new Float64Array(n);
  for (const [start, end] of panels(arms, from)) {
    const width = end - start;
    for (const { at, weight } of RULE) {
      let product = 1;
      for (let i = 0; i < n; i++) {
        const { mean, deviation } = arms[i]!;
        // start - mean is exact where it matters, so narrow arms far from 0 lose nothing.
        const z = (start - mean + at * width) / deviation;
        cdf[i] = normalCdf(z);
        density[i] = (normalDensity(z) * width * weight) / deviation;
        before[i] = product;
        product *= cdf[i]!;
      }
      product = 1;
      for (let i = n - 1; i >= 0; i--) {
        wins[i] = wins[i]! + density[i]! * before[i]! * product;
        product *= cdf[i]!;
      }
    }
  }
  return wins;
}

/** Intervals no wider than PANEL deviations of any arm that varies there. */
function panels(arms: readonly Score[], from: number): [number, number][] {
  const low = arms.map(({ mean, deviation }) => mean - REACH * deviation);
  const high = arms.map(({ mean, deviation }) => mean + REACH * deviation);
  // Below the highest lower end some arm is surely larger.
  let at = Math.max(from, ...low);
  const end = Math.max(...high);
  const out: [number, number][] = [];
  while (at < end) {
    let width = Infinity;
    let stop = end;
    for (const [i, { deviation }] of arms.entries()) {
      if (low[i]! <= at && at < high[i]!) {
        width = Math.min(width, PANEL * deviation);
        stop = Math.min(stop, high[i]!);
      } else if (low[i]! > at) stop = Math.min(stop, low[i]!);
    }
    const next = Math.min(stop, at + width);
    if (Number.isFinite(width) && next > at) out.push([at, next]);
    if (!(next > at)) break;
    at = next;
  }
  return out;
}
