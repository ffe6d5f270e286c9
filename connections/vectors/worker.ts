// The one thread that owns FAISS: flat inner-product indexes, exact and without training.
// FAISS knows slots, not ids, and removing renumbers every slot behind. So a removed slot only dies at first; when enough are dead
// they are removed together and the slots counted anew. Searches ask for as many more as there are dead ones.
import faiss from "faiss-node";
import { serveCalls } from "../worker/rpc.ts";
import { asCosine } from "./check.ts";
import type { FaissMethods } from "./methods.ts";
import type { Neighbour } from "./port.ts";

/** Dead slots at which they are swept out: few, because every search carries them along. */
const sweepAt = 64;

/** From this many queries on FAISS multiplies matrices, at 0.02 ms a query and thousand vectors (of 384) instead of 0.3. */
const matrixFrom = 20;
/** So from this many on it pays to fill up with queries that nobody asked. */
const fillFrom = 3;

interface Index {
  flat: faiss.IndexFlatIP;
  dimension: number;
  /** By slot; null: dead. */
  ids: (string | null)[];
  slots: Map<string, number>;
  dead: number;
}

const indexes = new Map<number, Index>();

function find(number: number): Index {
  const index = indexes.get(number);
  if (index === undefined) throw new Error(`there is no index ${number}`);
  return index;
}

function bury(index: Index, id: string): void {
  const slot = index.slots.get(id);
  if (slot === undefined) return;
  index.slots.delete(id);
  index.ids[slot] = null;
  index.dead++;
}

function sweep(index: Index): void {
  if (index.dead < sweepAt) return;
  const dead = index.ids.flatMap((id, slot) => (id === null ? [slot] : []));
  index.flat.removeIds(dead);
  index.ids = index.ids.filter((id) => id !== null);
  index.slots = new Map(index.ids.map((id, slot) => [id ?? "", slot]));
  index.dead = 0;
}

serveCalls<FaissMethods>({
  open({ index, dimension }) {
    indexes.set(index, { flat: new faiss.IndexFlatIP(dimension), dimension, ids: [], slots: new Map(), dead: 0 });
  },
  drop(index) {
    indexes.delete(index);
  },
  add({ index: number, ids, vectors }) {
    const index = find(number);
    for (const id of ids) bury(index, id);
    index.flat.add(Array.from(vectors));
    for (const id of ids) {
      // An id twice in one batch: the last counts.
      bury(index, id);
      index.slots.set(id, index.ids.length);
      index.ids.push(id);
    }
    sweep(index);
    return index.slots.size;
  },
  remove({ index: number, ids }) {
    const index = find(number);
    for (const id of ids) bury(index, id);
    sweep(index);
    return index.slots.size;
  },
  search({ index: number, queries, k }) {
    const index = find(number);
    const count = queries.length / index.dimension;
    const wanted = Math.min(k + index.dead, index.ids.length);
    if (wanted === 0 || k === 0) return Array.from({ length: count }, () => []);
    const asked = Array.from(queries);
    if (count >= fillFrom) while (asked.length < matrixFrom * index.dimension) asked.push(0);
    const { labels, distances } = index.flat.search(asked, wanted);
    return Array.from({ length: count }, (_, query) => {
      const neighbours: Neighbour[] = [];
      for (let i = query * wanted; i < (query + 1) * wanted && neighbours.length < k; i++) {
        const id = index.ids[labels[i] ?? -1];
        if (typeof id === "string") neighbours.push({ id, similarity: asCosine(distances[i] ?? -1) });
      }
      return neighbours;
    });
  },
});
