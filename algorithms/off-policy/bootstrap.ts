// Percentile bootstrap over decisions with Poisson weights of mean 1. Weights depend on seed, draw
// and index alone, so that compared policies get the same ones.
import type { Interval, Terms } from "./ratio.ts";
import { quantileOf } from "../numeric/quantile.ts";

const resamples = 1_000;

export interface BootstrapOptions {
  seed: number;
  confidence: number;
}

/** Distribution function of Poisson(1) on 2^32, up to what 32 bits tell apart. */
const thresholds = (() => {
  const out: number[] = [];
  let [probability, total] = [Math.exp(-1), 0];
  for (let k = 1; total < 1 - 2 ** -32; k++) {
    total += probability;
    out.push(total * 2 ** 32);
    probability /= k;
  }
  return Float64Array.from(out);
})();

/** 32 well-mixed bits of two whole numbers (the finaliser of MurmurHash3). */
function bits(one: number, other: number): number {
  let x = Math.imul(one ^ Math.imul(other, 0x9e3779b1), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

/** How often decision `index` counts in the draw of this key. */
export function poissonWeight(key: number, index: number): number {
  const draw = bits(index + 1, key);
  let count = 0;
  while (count < thresholds.length && draw >= thresholds[count]!) count++;
  return count;
}

export const drawKey = (seed: number, n: number): number => bits(n + 1, bits(seed, 0x5bd1e995));

/** Interval of a ratio, or of two ratios' difference. null: a draw can divide by 0, or n < 2. */
export function bootstrapInterval(
  one: Terms,
  other: Terms | null,
  { seed, confidence }: BootstrapOptions,
): Interval | null {
  if (one.numerator.length < 2) return null;
  const values = new Float64Array(resamples);
  for (let n = 0; n < resamples; n++) {
    const key = drawKey(seed, n);
    values[n] = resampled(one, key) - (other === null ? 0 : resampled(other, key));
  }
  if (!values.every(Number.isFinite)) return null;
  values.sort();
  const tail = (1 - confidence) / 2;
  return { low: quantileOf(values, tail), high: quantileOf(values, 1 - tail) };
}

function resampled({ numerator, denominator }: Terms, key: number): number {
  let [top, bottom] = [0, 0];
  for (let i = 0; i < numerator.length; i++) {
    const weight = poissonWeight(key, i);
    if (weight === 0) continue;
    top += weight * numerator[i]!;
    bottom += weight * (denominator === null ? 1 : denominator[i]!);
  }
  return top / bottom;
}
