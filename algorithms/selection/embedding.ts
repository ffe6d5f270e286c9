// Embeddings: vectors of unit length; in records little-endian float32.

/** How far from 1 the length may be: rounding, not another scale. */
const lengthTolerance = 0.01;

const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

export function embeddingToBytes(vector: Float32Array): Buffer {
  const bytes = Buffer.alloc(4 * vector.length);
  vector.forEach((value, i) => bytes.writeFloatLE(value, 4 * i));
  return bytes;
}

/** The vector, or what is wrong with it. */
export function embeddingFromBytes(bytes: Buffer, dimension: number): Float32Array | { reason: string } {
  if (bytes.length !== 4 * dimension)
    return { reason: `its embedding has ${bytes.length} bytes, expected ${4 * dimension} (${dimension} float32)` };
  const vector = new Float32Array(dimension);
  // A million of them are read when a pool is filled: copied where the machine has the same order,
  // ten times as fast.
  if (isLittleEndian) new Uint8Array(vector.buffer).set(bytes);
  else for (let i = 0; i < dimension; i++) vector[i] = bytes.readFloatLE(4 * i);
  let square = 0;
  for (const value of vector) square += value * value;
  if (!Number.isFinite(square)) return { reason: "its embedding has NaN or infinite numbers" };
  const length = Math.sqrt(square);
  if (Math.abs(length - 1) > lengthTolerance)
    return { reason: `its embedding has length ${length.toPrecision(4)}, expected 1` };
  return vector;
}

/** In place. A vector of zeros becomes NaN. */
export function toUnitLength(vector: Float32Array): void {
  let square = 0;
  // Three times as fast as for ... of.
  for (let i = 0; i < vector.length; i++) square += vector[i]! * vector[i]!;
  const scale = 1 / Math.sqrt(square);
  for (let i = 0; i < vector.length; i++) vector[i]! *= scale;
}

/**
 * Inner product; of unit vectors the cosine. The shorter length counts. Four sums at a time,
 * declared one by one: V8 would keep those of an array on the heap.
 */
export function dot(a: Float32Array | Float64Array, b: Float32Array | Float64Array): number {
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
