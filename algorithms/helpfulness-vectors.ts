// What the helpfulness model is told of the embeddings themselves: where the candidates' vectors
// lie together, and a random projection of each one's product with the question's. Every sum is in
// float64 and in one order, so that the same vectors give the same numbers.
import { normal, splitmix64 } from "./random.ts";

/** Components of the random projection of the embeddings' product. */
export const PROJECTED = 8;
const PROJECTION_SEED = 20_261_121;

/** Into `products`: the projection of the question's vector times the candidate's. */
export type Interaction = (question: Float32Array, vector: Float32Array, products: Float64Array) => void;

/**
 * Keeps the projection matrices that it has made, one a dimension, each with its product with the
 * last question. A vector must not be changed once it was given.
 */
export function createInteraction(): Interaction {
  const projections = new Map<number, Projection>();
  return (question, vector, products) => {
    let projection = projections.get(question.length);
    if (projection === undefined) projections.set(question.length, (projection = projectionOf(question.length)));
    multiply(projectedQuestion(question, projection), vector, products);
  };
}

interface Projection {
  /** Row after row. */
  matrix: Float64Array;
  /** Its product with `question`, column by column. */
  columns: Float64Array;
  question: Float32Array | null;
}

/**
 * Rows of standard normals, scaled so that the product of two random unit vectors gives values
 * about 1.
 */
function projectionOf(dimension: number): Projection {
  const random = splitmix64(PROJECTION_SEED);
  const scale = Math.sqrt(dimension);
  const matrix = Float64Array.from({ length: PROJECTED * dimension }, () => scale * normal(random));
  return { matrix, columns: new Float64Array(matrix.length), question: null };
}

/**
 * The projection's rows, each multiplied by the question's vector, column by column: what is left
 * to do for a candidate is one product with the matrix.
 */
function projectedQuestion(question: Float32Array, projection: Projection): Float64Array {
  const { matrix, columns } = projection;
  if (projection.question === question) return columns;
  const d = question.length;
  for (let j = 0; j < d; j++)
    for (let k = 0; k < PROJECTED; k++) columns[j * PROJECTED + k] = matrix[k * d + j]! * question[j]!;
  projection.question = question;
  return columns;
}

/**
 * Into `products`: the matrix times the vector, whose shorter length counts. Eight sums at a time,
 * declared one by one as in dot (embedding.ts).
 */
function multiply(columns: Float64Array, vector: Float32Array, products: Float64Array): void {
  const d = Math.min(columns.length / PROJECTED, vector.length);
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let s4 = 0;
  let s5 = 0;
  let s6 = 0;
  let s7 = 0;
  for (let j = 0, at = 0; j < d; j++, at += PROJECTED) {
    const value = vector[j]!;
    s0 += columns[at]! * value;
    s1 += columns[at + 1]! * value;
    s2 += columns[at + 2]! * value;
    s3 += columns[at + 3]! * value;
    s4 += columns[at + 4]! * value;
    s5 += columns[at + 5]! * value;
    s6 += columns[at + 6]! * value;
    s7 += columns[at + 7]! * value;
  }
  products[0] = s0;
  products[1] = s1;
  products[2] = s2;
  products[3] = s3;
  products[4] = s4;
  products[5] = s5;
  products[6] = s6;
  products[7] = s7;
}

/**
 * Length below which a sum of unit vectors is no longer stretched to 1, for each vector summed.
 * What is left when float32 vectors cancel is their own rounding, up to 2^-24 each; this is a
 * hundred times as much, so that such noise stays near zero.
 */
const shortestMean = 1e-5;

/**
 * Direction of the mean of the candidates' vectors: of unit length, or near zero where they cancel.
 * Summed in float64 and never divided by less than `shortestMean` a vector: the order of the
 * candidates, which moves only the rounding, would show in the direction otherwise.
 */
export function centroidOf(candidates: readonly { vector: Float32Array }[], dimension: number): Float64Array {
  const sum = new Float64Array(dimension);
  for (const { vector } of candidates) {
    const length = Math.min(dimension, vector.length);
    for (let j = 0; j < length; j++) sum[j]! += vector[j]!;
  }
  const length = Math.max(Math.sqrt(wideDot(sum, sum)), shortestMean * candidates.length);
  for (let j = 0; j < dimension; j++) sum[j]! /= length;
  return sum;
}

/**
 * dot (embedding.ts) where one side is float64. A function of its own: dot reads the elements of
 * float32 vectors alone half again as fast as those of both kinds.
 */
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
