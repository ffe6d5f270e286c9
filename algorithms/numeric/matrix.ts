// Linear algebra of the bandit: small symmetric positive definite matrices, packed as the lower
// triangle by rows, n (n + 1) / 2 numbers, as ClickHouse sums them and policies carry them.

export type Numbers = ArrayLike<number>;

export const packedLength = (n: number): number => (n * (n + 1)) / 2;

/** Index of element (row, column) of a symmetric matrix in packed storage. */
export const packedIndex = (row: number, column: number): number =>
  row >= column ? (row * (row + 1)) / 2 + column : (column * (column + 1)) / 2 + row;

/** Rows of a packed length; throws RangeError for a length that is no triangle. */
export function packedRows(length: number): number {
  const n = Math.round((Math.sqrt(8 * length + 1) - 1) / 2);
  if (packedLength(n) !== length) throw new RangeError(`${length} numbers are no packed triangle`);
  return n;
}

export function addOuter(packed: Float64Array, x: Numbers, weight: number): void {
  let at = 0;
  for (let i = 0; i < x.length; i++)
    for (let j = 0; j <= i; j++, at++) packed[at] = packed[at]! + weight * x[i]! * x[j]!;
}

export function multiply(packed: Numbers, x: Numbers): Float64Array {
  const out = new Float64Array(x.length);
  for (let i = 0; i < x.length; i++) {
    let sum = 0;
    for (let j = 0; j < x.length; j++) sum += packed[packedIndex(i, j)]! * x[j]!;
    out[i] = sum;
  }
  return out;
}

export const dot = (a: Numbers, b: Numbers): number => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
};

/**
 * Lower factor L with L LT = the matrix, packed; scaled to unit diagonal, with growing jitter
 * (1e-14 to 1e-4) against rounding. RangeError when not finite or far from positive definite.
 */
export function cholesky(packed: Numbers): Float64Array {
  const n = packedRows(packed.length);
  const scale = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const diagonal = packed[packedIndex(i, i)]!;
    if (!(diagonal > 0) || !Number.isFinite(diagonal))
      throw new RangeError(`diagonal element ${i} is ${diagonal}: the matrix is not positive definite`);
    scale[i] = Math.sqrt(diagonal);
  }
  for (const jitter of [0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4]) {
    const factor = factorScaled(packed, scale, jitter);
    if (factor !== null) return factor;
  }
  throw new RangeError("the matrix is not positive definite, or not finite");
}

function factorScaled(packed: Numbers, scale: Float64Array, jitter: number): Float64Array | null {
  const n = scale.length;
  const factor = new Float64Array(packed.length);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = packed[packedIndex(i, j)]! / scale[i]! / scale[j]! + (i === j ? jitter : 0);
      for (let k = 0; k < j; k++) sum -= factor[packedIndex(i, k)]! * factor[packedIndex(j, k)]!;
      if (i === j) {
        // A smaller pivot is rounding error.
        if (!(sum > 1e-15)) return null;
        factor[packedIndex(i, i)] = Math.sqrt(sum);
      } else factor[packedIndex(i, j)] = sum / factor[packedIndex(j, j)]!;
    }
  }
  for (let i = 0; i < n; i++)
    for (let j = 0; j <= i; j++) factor[packedIndex(i, j)] = factor[packedIndex(i, j)]! * scale[i]!;
  return factor.every(Number.isFinite) ? factor : null;
}

export function solveLower(factor: Numbers, b: Numbers): Float64Array {
  const y = new Float64Array(b.length);
  for (let i = 0; i < b.length; i++) {
    let sum = b[i]!;
    for (let j = 0; j < i; j++) sum -= factor[packedIndex(i, j)]! * y[j]!;
    y[i] = sum / factor[packedIndex(i, i)]!;
  }
  return y;
}

/** Solves L LT x = b. */
export function solveCholesky(factor: Numbers, b: Numbers): Float64Array {
  const x = solveLower(factor, b);
  for (let i = x.length - 1; i >= 0; i--) {
    let sum = x[i]!;
    for (let j = i + 1; j < x.length; j++) sum -= factor[packedIndex(j, i)]! * x[j]!;
    x[i] = sum / factor[packedIndex(i, i)]!;
  }
  return x;
}
