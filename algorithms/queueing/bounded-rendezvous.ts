// Chooses the replica for a request by its prefix, unless that replica exceeds a load bound.
// Rendezvous hashing (Thaler, Ravishankar 1998): an added or removed replica moves only its own
// share of the keys. Bounded loads (Mirrokni, Thorup, Zadimoghaddam 2016): at most c times the mean
// for each replica. Pure.
import { hash } from "node:crypto";
import { murmur2 } from "../numeric/murmur2.ts";

/** Bound over the mean: a smaller one balances better, a larger one keeps more prefixes cached. */
export const loadBound = 1.25;

/** Names by preference for the key, the same in every process. n log n in the names. */
export function rendezvousOrder(key: string, names: readonly string[]): string[] {
  const digest = hash("sha256", key, "hex");
  const scored = names.map((name) => ({ name, score: murmur2(Buffer.from(digest + name)) }));
  scored.sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1));
  return scored.map(({ name }) => name);
}

/**
 * The first name whose load with one more request is at most ceil(c (total + 1) / n). Names above
 * the bound are excluded from the mean, so that a stuck replica does not loosen the others' bound.
 * `loadOf`: current requests, >= 0. undefined for an empty order.
 */
export function withinBound(
  order: readonly string[],
  loadOf: (name: string) => number,
  c = loadBound,
): string | undefined {
  const all = order.map((name) => ({ name, load: finite(loadOf(name)) }));
  for (let among = all; ;) {
    const total = among.reduce((sum, { load }) => sum + load, 0);
    const bound = Math.ceil((c * (total + 1)) / among.length);
    const below = among.filter(({ load }) => load + 1 <= bound);
    // For c >= 1 one is always below; rounding of huge loads must not lose the request.
    if (below.length === 0 || below.length === among.length) return among[0]?.name;
    among = below;
  }
}

const finite = (load: number): number => (Number.isFinite(load) ? Math.max(0, load) : Number.MAX_SAFE_INTEGER / 1_024);
