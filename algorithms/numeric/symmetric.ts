// Products and inverses of symmetric matrices of which the lower triangle is packed by rows, as
// numeric/matrix.ts has them. n: rows.
import { packedIndex, packedLength, type Numbers } from "./matrix.ts";

/** Inverse of L LT, packed: the product of the inverse of L with itself. */
export function inverse(factor: Numbers, n: number): Float64Array {
  const lower = new Float64Array(packedLength(n));
  for (let i = 0; i < n; i++) {
    const row = packedIndex(i, 0);
    for (let j = 0; j <= i; j++) {
      let sum = i === j ? 1 : 0;
      for (let k = j, at = packedIndex(j, j); k < i; at += ++k) sum -= factor[row + k]! * lower[at]!;
      lower[row + j] = sum / factor[row + i]!;
    }
  }
  const out = new Float64Array(packedLength(n));
  for (let k = 0; k < n; k++) {
    const row = packedIndex(k, 0);
    for (let i = 0; i <= k; i++) {
      const value = lower[row + i]!;
      const to = packedIndex(i, 0);
      for (let j = 0; j <= i; j++) out[to + j]! += value * lower[row + j]!;
    }
  }
  return out;
}

/** M diag(1 / d), as rows of a full matrix. */
export function scaledColumns(packed: Numbers, d: Float64Array): Float64Array {
  const n = d.length;
  const out = new Float64Array(n * n);
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) out[i * n + j] = packed[packedIndex(i, j)]! / d[j]!;
  return out;
}

/** F C; F full, C packed and symmetric. */
export function timesSymmetric(full: Float64Array, packed: Numbers, n: number): Float64Array {
  const square = new Float64Array(n * n);
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) square[i * n + j] = packed[packedIndex(i, j)]!;
  const out = new Float64Array(n * n);
  for (let i = 0; i < n; i++)
    for (let k = 0; k < n; k++) {
      const value = full[i * n + k]!;
      for (let j = 0; j < n; j++) out[i * n + j]! += value * square[k * n + j]!;
    }
  return out;
}
