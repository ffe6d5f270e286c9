// Features from embeddings: centroid of the candidates, and a random projection of each vector's
// product with the question's. Sums in float64 in one order: equal vectors, equal numbers.
import { project, PROJECTED, projectionOf } from "./projection.ts";

/** Into `products`: the projection of the question's vector times the candidate's. */
export type Interaction = (question: Float32Array, vector: Float32Array, products: Float64Array) => void;

/** Keeps projections and their product with the last question: don't change given vectors. */
export function createInteraction(): Interaction {
  const projections = new Map<number, Projection>();
  return (question, vector, products) => {
    const dimension = question.length;
    let projection = projections.get(dimension);
    if (projection === undefined) {
      // So that the product of two random unit vectors gives values about 1.
      const columns = projectionOf(dimension, Math.sqrt(dimension));
      projection = { columns, products: new Float64Array(columns.length), question: null };
      projections.set(dimension, projection);
    }
    project(projectedQuestion(question, projection), vector, products);
  };
}

interface Projection {
  columns: Float64Array;
  /** Products of the columns with `question`, the question of the last call. */
  products: Float64Array;
  question: Float32Array | null;
}

/** The projection's rows times the question: a candidate then needs one product. */
function projectedQuestion(question: Float32Array, projection: Projection): Float64Array {
  const { columns, products } = projection;
  if (projection.question === question) return products;
  for (let j = 0, at = 0; j < question.length; j++)
    for (let k = 0; k < PROJECTED; k++, at++) products[at] = columns[at]! * question[j]!;
  projection.question = question;
  return products;
}

/** Length a summed vector below which the mean is rounding: 100 times float32's error. */
const shortestMean = 1e-5;

/** Direction of the mean: unit length, or near zero where they cancel; order-independent. */
export function centroidOf(candidates: readonly { vector: Float32Array }[], dimension: number): Float64Array {
  const sum = new Float64Array(dimension);
  const areWhole = candidates.every(({ vector }) => vector.length >= dimension);
  let i = 0;
  // Four in a pass, in their order: a sum is read and written a fourth as often.
  for (; areWhole && i + 3 < candidates.length; i += 4) {
    const a = candidates[i]!.vector;
    const b = candidates[i + 1]!.vector;
    const c = candidates[i + 2]!.vector;
    const d = candidates[i + 3]!.vector;
    for (let j = 0; j < dimension; j++) sum[j] = sum[j]! + a[j]! + b[j]! + c[j]! + d[j]!;
  }
  for (; i < candidates.length; i++) {
    const { vector } = candidates[i]!;
    const length = Math.min(dimension, vector.length);
    for (let j = 0; j < length; j++) sum[j]! += vector[j]!;
  }
  const length = Math.max(Math.sqrt(wideDot(sum, sum)), shortestMean * candidates.length);
  for (let j = 0; j < dimension; j++) sum[j]! /= length;
  return sum;
}

/** dot (embedding.ts) where one side is float64; apart, for V8's sake. */
export function wideDot(a: Float64Array, b: Float32Array | Float64Array): number {
  const length = Math.min(a.length, b.length);
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let i = 0;
  for (; i + 3 < length; i += 4) {
    s0 += a[i]! * b[i]!;
    s1 += a[i + 1]! * b[i + 1]!;
    s2 += a[i + 2]! * b[i + 2]!;
    s3 += a[i + 3]! * b[i + 3]!;
  }
  for (; i < length; i++) s0 += a[i]! * b[i]!;
  return s0 + s1 + s2 + s3;
}
