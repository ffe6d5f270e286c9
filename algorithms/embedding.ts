// Embeddings as they stand in records: little-endian float32, unit length.

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
  // A million of them are read when a pool is filled: copied where the machine has the same order, ten times as fast.
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
