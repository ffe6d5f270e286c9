// Every vector compared, in JavaScript: what stands in where the FAISS library can't be built, and the measure for it in tests.
// Runs in the caller's thread (0.5 ms a thousand vectors of 384), so it is meant for pools of some thousand examples.
import { asCosine, checkCount, checkVector } from "./check.ts";
import { VectorError, type Neighbour, type VectorIndex } from "./port.ts";

const firstCapacity = 64;

export function createExactIndex(dimension: number): VectorIndex {
  let vectors = new Float32Array(firstCapacity * dimension);
  let closed = false;
  const ids: string[] = [];
  const slots = new Map<string, number>();

  const checkOpen = (): void => {
    if (closed) throw new VectorError("index_unavailable", "the index is closed");
  };

  function put(id: string, vector: Float32Array): void {
    let slot = slots.get(id);
    if (slot === undefined) {
      slot = ids.length;
      if ((slot + 1) * dimension > vectors.length) {
        const larger = new Float32Array(2 * vectors.length);
        larger.set(vectors);
        vectors = larger;
      }
      ids.push(id);
      slots.set(id, slot);
    }
    vectors.set(vector, slot * dimension);
  }

  /** The last one moves into the gap. */
  function drop(id: string): void {
    const slot = slots.get(id);
    if (slot === undefined) return;
    slots.delete(id);
    const last = ids.length - 1;
    const lastId = ids.pop();
    if (slot === last || lastId === undefined) return;
    vectors.copyWithin(slot * dimension, last * dimension, (last + 1) * dimension);
    ids[slot] = lastId;
    slots.set(lastId, slot);
  }

  return {
    async add(entries) {
      checkOpen();
      for (const { id, vector } of entries) checkVector(dimension, vector, `the vector of ${id}`);
      for (const { id, vector } of entries) put(id, vector);
    },
    async remove(removed) {
      checkOpen();
      removed.forEach(drop);
    },
    async search(vector, k) {
      checkOpen();
      checkCount(k);
      checkVector(dimension, vector, "the query");
      return nearest(vectors, ids.length, dimension, vector, k).map(([slot, product]): Neighbour => {
        return { id: ids[slot] ?? "", similarity: asCosine(product) };
      });
    },
    size: () => ids.length,
    async close() {
      closed = true;
      vectors = new Float32Array(0);
      ids.length = 0;
      slots.clear();
    },
  };
}

/** Slots and products of the k largest inner products, largest first. The loop over the vectors allocates nothing. */
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
    let place = filled < room ? filled++ : room - 1;
    for (; place > 0 && best[place - 1]! < product; place--) {
      best[place] = best[place - 1]!;
      bestSlots[place] = bestSlots[place - 1]!;
    }
    best[place] = product;
    bestSlots[place] = slot;
  }
  return Array.from(best, (product, i) => [bestSlots[i]!, product]);
}
