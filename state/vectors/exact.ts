// Every vector compared in JavaScript, in the caller's thread (0.5 ms a thousand of 384): where
// FAISS can't be built, and the measure in tests.
import { asCosine, checkCount, checkRows, checkVector } from "./check.ts";
import { readExactFile, writeExactFile } from "./exact-file.ts";
import { exactFigures, VectorError, type Neighbour, type VectorIndex, type VectorIndexes } from "./port.ts";

const firstCapacity = 64;

export function createExactIndexes(dimension: number): VectorIndexes {
  return {
    kind: "exact",
    open: () => createExactIndex(dimension),
    async restore(file) {
      const { keys, vectors, note } = await readExactFile(file, dimension);
      const index = createExactIndex(dimension);
      await index.add(keys, vectors);
      return { index, note };
    },
    close: async () => undefined,
  };
}

export function createExactIndex(dimension: number): VectorIndex {
  let vectors = new Float32Array(firstCapacity * dimension);
  let closed = false;
  const keys: number[] = [];
  const slots = new Map<number, number>();

  const checkOpen = (): void => {
    if (closed) throw new VectorError("index_unavailable", "the index is closed");
  };

  function put(key: number, vector: Float32Array): void {
    let slot = slots.get(key);
    if (slot === undefined) {
      slot = keys.length;
      if ((slot + 1) * dimension > vectors.length) {
        const larger = new Float32Array(2 * vectors.length);
        larger.set(vectors);
        vectors = larger;
      }
      keys.push(key);
      slots.set(key, slot);
    }
    vectors.set(vector, slot * dimension);
  }

  function drop(key: number): void {
    const slot = slots.get(key);
    if (slot === undefined) return;
    slots.delete(key);
    const last = keys.length - 1;
    const lastKey = keys.pop();
    if (slot === last || lastKey === undefined) return;
    vectors.copyWithin(slot * dimension, last * dimension, (last + 1) * dimension);
    keys[slot] = lastKey;
    slots.set(lastKey, slot);
  }

  return {
    async add(added, rows) {
      checkOpen();
      checkRows(dimension, added, rows);
      added.forEach((key, i) => put(key, rows.subarray(i * dimension, (i + 1) * dimension)));
    },
    async remove(removed) {
      checkOpen();
      removed.forEach(drop);
    },
    async search(vector, k) {
      checkOpen();
      checkCount(k);
      checkVector(dimension, vector, "the query");
      return nearest(vectors, keys.length, dimension, vector, k).map(([slot, product]): Neighbour => {
        return { key: keys[slot]!, similarity: asCosine(product) };
      });
    },
    figures: () => exactFigures(keys.length),
    async save(file, note) {
      checkOpen();
      // Copied before the first wait: what is added meanwhile is not in the file.
      const content = vectors.slice(0, keys.length * dimension);
      await writeExactFile(file, { dimension, note, keys: Uint32Array.from(keys), vectors: content });
    },
    async close() {
      closed = true;
      vectors = new Float32Array(0);
      keys.length = 0;
      slots.clear();
    },
  };
}

/** Slots and products of the k largest, largest first. The loop allocates nothing. */
function nearest(
  vectors: Float32Array,
  count: number,
  dimension: number,
  query: Float32Array,
  k: number,
): [number, number][] {
  const room = Math.min(k, count);
  if (room === 0) return [];
  const best = new Float64Array(room).fill(-Infinity);
  const bestSlots = new Int32Array(room);
  let filled = 0;
  const whole = dimension - (dimension % 4);
  for (let slot = 0; slot < count; slot++) {
    const at = slot * dimension;
    // Four sums at a time: additions that wait for each other cost three times as much.
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    let i = 0;
    for (; i < whole; i += 4) {
      a += vectors[at + i]! * query[i]!;
      b += vectors[at + i + 1]! * query[i + 1]!;
      c += vectors[at + i + 2]! * query[i + 2]!;
      d += vectors[at + i + 3]! * query[i + 3]!;
    }
    for (; i < dimension; i++) a += vectors[at + i]! * query[i]!;
    const product = a + b + (c + d);
    if (filled === room && product <= best[room - 1]!) continue;
    let index = filled < room ? filled++ : room - 1;
    for (; index > 0 && best[index - 1]! < product; index--) {
      best[index] = best[index - 1]!;
      bestSlots[index] = bestSlots[index - 1]!;
    }
    best[index] = product;
    bestSlots[index] = slot;
  }
  return Array.from(best, (product, i) => [bestSlots[i]!, product]);
}
