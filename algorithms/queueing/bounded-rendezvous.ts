// Which replica gets a request: the one that its prefix hashes to, as long as that is not busier
// than the others. Rendezvous hashing (Thaler, Ravishankar 1998): a replica that comes or goes
// moves only its own share of the keys. Bounded loads (Mirrokni, Thorup, Zadimoghaddam 2016): none
// has more than c times the mean. Pure.
import { hash } from "node:crypto";
import { murmur2 } from "../numeric/murmur2.ts";

/** Bound over the mean: more balances better, less keeps more prefixes where they are cached. */
export const loadBound = 1.25;

/**
 * The names from the best one of the key to the worst, the same in every process whatever their
 * order. Linear in the texts, n log n in the names, which are distinct.
 */
export function rendezvousOrder(key: string, names: readonly string[]): string[] {
  const digest = hash("sha256", key, "hex");
  const scored = names.map((name) => ({ name, score: murmur2(Buffer.from(digest + name)) }));
  scored.sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1));
  return scored.map(({ name }) => name);
}

/**
 * The first of the order that may take one more: its load is then at most ceil(c (total + 1) / n).
 * Those above leave the mean, so that one that is stuck does not loosen the others' bound.
 * `loadOf`: requests that it has, >= 0. undefined for an empty order.
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
    // For c >= 1 there is one; rounding of huge loads must not lose the request.
    if (below.length === 0 || below.length === among.length) return among[0]?.name;
    among = below;
  }
}

const finite = (load: number): number => (Number.isFinite(load) ? Math.max(0, load) : Number.MAX_SAFE_INTEGER / 1_024);
