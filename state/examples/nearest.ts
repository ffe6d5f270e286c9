// Search of one domain: its index, then vectors and texts (read-examples.ts). Similarity is
// computed anew from the present vector.
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { dot } from "../../algorithms/selection/embedding.ts";
import type { Neighbour } from "../vectors/port.ts";
import type { Ledger } from "./ledger.ts";
import type { Candidate } from "./port.ts";
import type { ReadExample } from "./read-examples.ts";

export interface NearestDependencies {
  ledger: Pick<Ledger, "numberOfDomain">;
  search: (domain: number, vector: Float32Array, k: number) => Promise<Neighbour[]>;
  read: (domain: number, key: number, now: number) => ReadExample | undefined;
}

/** Expired examples looked past before the search gives up. */
const mostExpired = 16_384;
/** Looked at in one go, about 2 ms of work. */
const atOnce = 512;

export function createNearest({ ledger, search, read }: NearestDependencies) {
  return async function nearest(domain: string, query: Float32Array, k: number, now: number): Promise<Candidate[]> {
    const number = ledger.numberOfDomain(domain);
    if (number === undefined || k === 0) return [];
    const found: Candidate[] = [];
    const seen = new Set<number>();
    for (let asked = k; ; asked *= 2) {
      const neighbours = await search(number, query, asked);
      for (const { key } of neighbours) {
        if (found.length === k) break;
        if (seen.has(key)) continue;
        if (seen.add(key).size % atOnce === 0) await yieldToOthers();
        const one = read(number, key, now);
        // A key may have gone to an example of another domain since the search.
        if (one?.example.domain !== domain) continue;
        const similarity = Math.max(-1, Math.min(1, dot(query, one.vector)));
        found.push({ example: one.example, similarity, vector: one.vector, traits: one.traits });
      }
      // Expired examples stand in the index until they are evicted: ask for more until k are left,
      // or there are no more.
      if (found.length === k || neighbours.length < asked || asked > mostExpired)
        return found.sort((a, b) => b.similarity - a.similarity);
    }
  };
}
