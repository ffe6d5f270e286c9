// What every index checks of a vector before native code could read foreign memory.
import { VectorError } from "./port.ts";

/** Products of such numbers, summed over any dimension, are finite. */
const largest = 1e15;
const isBad = (value: number): boolean => !(Math.abs(value) <= largest);

/** Throws VectorError wrong_dimension or not_finite; `what` names the vector in the message. */
export function checkVector(dimension: number, vector: Float32Array, what: string): void {
  if (vector.length !== dimension)
    throw new VectorError("wrong_dimension", `${what} has ${vector.length} numbers, this index holds ${dimension}`);
  const bad = vector.findIndex(isBad);
  if (bad >= 0) throw new VectorError("not_finite", `${what} has ${vector[bad]} at ${bad}`);
}

/** Row-major, one row a key. VectorError wrong_dimension or not_finite, naming the key. */
export function checkRows(dimension: number, keys: Uint32Array, vectors: Float32Array): void {
  if (vectors.length !== keys.length * dimension)
    throw new VectorError(
      "wrong_dimension",
      `${keys.length} keys come with ${vectors.length} numbers, this index holds ${dimension} a key`,
    );
  let bad = 0;
  while (bad < vectors.length && !isBad(vectors[bad]!)) bad++;
  if (bad === vectors.length) return;
  throw new VectorError(
    "not_finite",
    `the vector of key ${keys[Math.floor(bad / dimension)]} has ${vectors[bad]} at ${bad % dimension}`,
  );
}

/** Rounding puts products a little outside of [-1, 1]. */
export const asCosine = (product: number): number => Math.max(-1, Math.min(1, product));

/** Throws RangeError: a count that is no positive integer is a bug of the caller. */
export function checkCount(k: number): void {
  if (!Number.isInteger(k) || k < 0) throw new RangeError(`k must be a non-negative integer, not ${k}`);
}
