// What every index checks before a vector goes near native code, where a wrong length would read foreign memory.
import { VectorError } from "./port.ts";

/** Throws VectorError wrong_dimension or not_finite; `what` names the vector in the message. */
export function checkVector(dimension: number, vector: Float32Array, what: string): void {
  if (vector.length !== dimension)
    throw new VectorError("wrong_dimension", `${what} has ${vector.length} numbers, this index holds ${dimension}`);
  for (let i = 0; i < dimension; i++)
    if (!Number.isFinite(vector[i])) throw new VectorError("not_finite", `${what} has ${vector[i]} at ${i}`);
}

/** Rounding puts the product of unit vectors a little outside of [-1, 1]; a cosine is never there. */
export const asCosine = (product: number): number => Math.max(-1, Math.min(1, product));

/** Throws RangeError: a count that is no positive integer is a bug of the caller. */
export function checkCount(k: number): void {
  if (!Number.isInteger(k) || k < 0) throw new RangeError(`k must be a non-negative integer, not ${k}`);
}
