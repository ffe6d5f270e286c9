// Search of one domain: candidates from its index, which knows vectors in 8 bits, compared by the
// vectors of the store; then the texts of the nearest (read-examples.ts).
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { dot } from "../../algorithms/selection/embedding.ts";
import type { Neighbour } from "../vectors/port.ts";
import type { Ledger } from "./ledger.ts";
import type { Candidate } from "./port.ts";
import type { ReadExamples } from "./read-examples.ts";

export interface NearestDependencies {
  ledger: Pick<Ledger, "numberOfDomain">;
  search: (domain: number, vector: Float32Array, k: number) => Promise<Neighbour[]>;
  read: ReadExamples;
}

/** Expired examples looked past before the search gives up. */
const mostExpired = 16_384;
/** Compared in one go, about 2 ms of work. */
const atOnce = 512;
/** Candidates; 8 bits place all of the true 32 nearest among 40, .991 of them among 32. */
const candidatesFor = (k: number): number => k + (k >> 2) + 8;

export function createNearest({ ledger, search, read }: NearestDependencies) {
  return async function nearest(domain: string, query: Float32Array, k: number, now: number): Promise<Candidate[]> {
    const number = ledger.numberOfDomain(domain);
    if (number === undefined || k === 0) return [];
    const wanted = candidatesFor(k);
    const near: { key: number; similarity: number }[] = [];
    const seen = new Set<number>();
    // Expired examples stand in the index until they are evicted: ask for more until enough are
    // left, or there are no more.
    for (let asked = wanted; ; asked *= 2) {
      const neighbours = await search(number, query, asked);
      for (const { key } of neighbours) {
        if (near.length === wanted) break;
        if (seen.has(key)) continue;
        if (seen.add(key).size % atOnce === 0) await yieldToOthers();
        const similarity = read.similarity(number, key, query, now);
        if (similarity !== undefined) near.push({ key, similarity });
      }
      if (near.length === wanted || neighbours.length < asked || asked > mostExpired) break;
    }
    near.sort((a, b) => b.similarity - a.similarity);
    const found: Candidate[] = [];
    for (const { key } of near) {
      if (found.length === k) break;
      const one = read.example(number, key, now);
      // A key may have gone to an example of another domain since the search.
      if (one?.example.domain !== domain) continue;
      const similarity = Math.max(-1, Math.min(1, dot(query, one.vector)));
      found.push({ example: one.example, similarity, vector: one.vector, traits: one.traits });
    }
    return found.sort((a, b) => b.similarity - a.similarity);
  };
}
