// Ridge regression with held-out predictions, for choices that are judged on requests they were not
// fitted to. Pure.
import {
  addOuter,
  cholesky,
  dot,
  packedIndex,
  packedLength,
  solveCholesky,
} from "../../../algorithms/numeric/matrix.ts";
import { mean } from "../../support/statistics.ts";

const folds = 5;
const ridge = 1;

const foldOf = (i: number): number => i % folds;

type Fit<Model> = (indices: readonly number[]) => Model;
/** Each request by the model that the other folds gave. */
export function heldOut<Model>(count: number, fit: Fit<Model>): Model[] {
  const all = Array.from({ length: count }, (_, i) => i);
  const models = Array.from({ length: folds }, (_, fold) => fit(all.filter((i) => foldOf(i) !== fold)));
  return all.map((i) => models[foldOf(i)]!);
}

/** Least squares with a ridge on features scaled by their rows; without a row it predicts 0. */
export function fitRidge(rows: readonly (readonly number[])[], targets: readonly number[]) {
  const middle = rows.length === 0 ? 0 : mean(targets);
  const columns = (rows[0] ?? []).map((_, k) => {
    const values = rows.map((row) => row[k]!);
    const center = mean(values);
    return { center, deviation: Math.sqrt(mean(values.map((value) => (value - center) ** 2))) };
  });
  const scaled = (row: readonly number[]): number[] =>
    columns.map(({ center, deviation }, k) => (deviation > 1e-9 ? (row[k]! - center) / deviation : 0));
  const precision = new Float64Array(packedLength(columns.length));
  for (const k of columns.keys()) precision[packedIndex(k, k)] = ridge;
  const sums = new Float64Array(columns.length);
  for (const [i, row] of rows.entries()) {
    const x = scaled(row);
    addOuter(precision, x, 1);
    for (const [k, value] of x.entries()) sums[k]! += value * (targets[i]! - middle);
  }
  const weights = columns.length === 0 ? sums : solveCholesky(cholesky(precision), sums);
  return (row: readonly number[]): number => middle + dot(weights, scaled(row));
}
