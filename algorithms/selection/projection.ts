// A fixed random projection: products of a vector with eight rows of standard normals, the same in
// every process. What the context of routing and the helpfulness model know of embeddings.
import { normal, splitmix64 } from "../numeric/random.ts";

/** Rows. */
export const PROJECTED = 8;
const SEED = 20_261_121;

export function projectionOf(dimension: number, scale = 1): Float64Array {
  const random = splitmix64(SEED);
  const columns = new Float64Array(PROJECTED * dimension);
  for (let k = 0; k < PROJECTED; k++)
    for (let j = 0; j < dimension; j++) columns[j * PROJECTED + k] = scale * normal(random);
  return columns;
}

/** products: columns times vector, whose shorter length counts. Eight sums at a time. */
export function project(columns: Float64Array, vector: Float32Array, products: Float64Array): void {
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
