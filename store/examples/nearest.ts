// Search of one domain: one search of its index, then vector and text of each that was found,
// straight from the mapped store. Similarity is computed anew from the vector that is held: an
// index that compresses its vectors only proposes, and an example that changed since the search is
// judged by what it is now.
import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Neighbour } from "../vectors/port.ts";
import type { Layout } from "./layout.ts";
import type { Ledger } from "./ledger.ts";
import type { Candidate } from "./port.ts";
import { decodeExample, decodeVector, slotOf } from "./records.ts";
import type { Damage } from "./upkeep.ts";

export interface NearestDependencies {
  layout: Pick<Layout, "vectors" | "examples">;
  ledger: Pick<Ledger, "numberOfDomain" | "header">;
  search: (domain: number, vector: Float32Array, k: number) => Promise<Neighbour[]>;
  onDamaged: (damage: Damage) => void;
}

/**
 * Expired examples looked past before the search gives up: curate takes them out of the topic soon.
 */
const mostExpired = 16_384;
/** Looked at in one go, about 2 ms of work. */
const atOnce = 512;

export function createNearest({ layout, ledger, search, onDamaged }: NearestDependencies) {
  const { vectors, examples } = layout;
  const { dimension } = ledger.header;

  /** Fills `into` and gives whether it is there, whole and not expired. */
  function readVector(slot: number, now: number, into: Float32Array): boolean {
    const bytes = vectors.getBinaryFast(slot);
    const expiresAt = bytes && decodeVector(slot, bytes, into);
    if (expiresAt === null) onDamaged({ slot });
    return typeof expiresAt === "number" && expiresAt > now;
  }
  function read(key: number, domain: string, vector: Float32Array, similarity: number): Candidate[] {
    const bytes = examples.getBinaryFast(key);
    const example = bytes && decodeExample(key, bytes);
    if (example === null) onDamaged({ key });
    return example?.domain === domain ? [{ example, similarity, vector }] : [];
  }

  return async function nearest(domain: string, query: Float32Array, k: number, now: number): Promise<Candidate[]> {
    const number = ledger.numberOfDomain(domain);
    if (number === undefined || k === 0) return [];
    const found: Candidate[] = [];
    // One piece of memory for all: 32 small ones cost more than what is done with them.
    const rows = new Float32Array(k * dimension);
    const seen = new Set<number>();
    for (let asked = k; ; asked *= 2) {
      const neighbours = await search(number, query, asked);
      for (const { key } of neighbours) {
        if (found.length === k) break;
        if (seen.has(key)) continue;
        if (seen.add(key).size % atOnce === 0) await yieldToOthers();
        const vector = rows.subarray(found.length * dimension, (found.length + 1) * dimension);
        if (readVector(slotOf(number, key), now, vector))
          found.push(...read(key, domain, vector, cosine(query, vector)));
      }
      // Expired examples stand in the index until they are evicted: ask for more until k are left,
      // or there are no more.
      if (found.length === k || neighbours.length < asked || asked > mostExpired)
        return found.sort((a, b) => b.similarity - a.similarity);
    }
  };
}

/**
 * Of the query, of unit length, and a vector whose halves left it a little longer or shorter, and
 * which is brought back to unit length. Two sums of each at a time: additions that wait for each
 * other take twice as long.
 */
function cosine(query: Float32Array, vector: Float32Array): number {
  let product = 0;
  let otherProduct = 0;
  let square = 0;
  let otherSquare = 0;
  const { length } = vector;
  for (let i = 0; i + 1 < length; i += 2) {
    const one = vector[i]!;
    const other = vector[i + 1]!;
    product += query[i]! * one;
    otherProduct += query[i + 1]! * other;
    square += one * one;
    otherSquare += other * other;
  }
  if (length % 2 === 1) {
    product += query[length - 1]! * vector[length - 1]!;
    square += vector[length - 1]! ** 2;
  }
  const scale = 1 / Math.sqrt(square + otherSquare);
  for (let i = 0; i < length; i++) vector[i]! *= scale;
  return Math.max(-1, Math.min(1, (product + otherProduct) * scale));
}
