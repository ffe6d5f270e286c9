// Logistic regression with a ridge, by Newton steps: the baseline that any library would give. The
// features are scaled to mean 0 and deviation 1 by the rows it is fitted on. Pure.
import { addOuter, cholesky, dot, packedIndex, packedLength, solveCholesky } from "../../algorithms/numeric/matrix.ts";

const ridge = 1;
const mostSteps = 25;

/** labels are 0 or 1. Returns the log odds of 1, for any row. */
export function fitLogistic(
  rows: readonly (readonly number[])[],
  labels: readonly number[],
): (row: readonly number[]) => number {
  const width = rows[0]?.length ?? 0;
  const columns = Array.from({ length: width }, (_, k) => {
    const mean = rows.reduce((sum, row) => sum + row[k]!, 0) / rows.length;
    const variance = rows.reduce((sum, row) => sum + (row[k]! - mean) ** 2, 0) / rows.length;
    return { mean, deviation: Math.sqrt(variance) };
  });
  // A feature that never varies says nothing; the intercept comes last and has no ridge.
  const scaled = (row: readonly number[]): number[] => [
    ...columns.map(({ mean, deviation }, k) => (deviation > 1e-9 ? (row[k]! - mean) / deviation : 0)),
    1,
  ];
  const all = rows.map(scaled);
  let weights = new Float64Array(width + 1);
  for (let step = 0; step < mostSteps; step++) {
    const precision = new Float64Array(packedLength(width + 1));
    for (let k = 0; k <= width; k++) precision[packedIndex(k, k)] = k < width ? ridge : 1e-6;
    const gradient = weights.map((weight, k) => (k < width ? -ridge * weight : -1e-6 * weight));
    for (const [i, x] of all.entries()) {
      const p = 1 / (1 + Math.exp(-dot(weights, x)));
      addOuter(precision, x, p * (1 - p));
      for (let k = 0; k <= width; k++) gradient[k]! += (labels[i]! - p) * x[k]!;
    }
    const change = solveCholesky(cholesky(precision), gradient);
    weights = weights.map((weight, k) => weight + change[k]!);
    if (Math.max(...change.map(Math.abs)) < 1e-8) break;
  }
  return (row) => dot(weights, scaled(row));
}
