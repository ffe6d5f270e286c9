// Value of a stored chunk cache (Cache-Craft, section 3.3): every use adds 1/CFO. Values decay,
// unlike in the paper: formerly popular caches must leave.

/** Value at a time; milliseconds of any clock. */
export interface ReuseValue {
  value: number;
  at: number;
}

/** What one use adds: 1 / max(CFO, 1/length), CFO in [0, 1], length (tokens) >= 1. */
export const reuseCredit = (cfo: number, length: number): number => 1 / Math.max(cfo, 1 / length);

/** Halves every halfLife milliseconds; a clock that went back changes nothing. */
export function valueAt({ value, at }: ReuseValue, now: number, halfLife: number): number {
  return now <= at ? value : value * 2 ** ((at - now) / halfLife);
}

export function addUse(before: ReuseValue, credit: number, now: number, halfLife: number): ReuseValue {
  return { value: valueAt(before, now, halfLife) + credit, at: Math.max(now, before.at) };
}

/** An entry that takes bytes and may be evicted. */
export interface Evictable {
  key: string;
  bytes: number;
  value: number;
  createdAt: number;
  pinned: boolean;
}

/** Keys to evict, in order, until at most `budget` bytes are left; never pinned ones. */
export function chooseVictims(entries: readonly Evictable[], budget: number): string[] {
  let excess = entries.reduce((sum, { bytes }) => sum + bytes, 0) - budget;
  if (excess <= 0) return [];
  const victims: string[] = [];
  const order = entries
    .filter(({ pinned }) => !pinned)
    .sort((a, b) => a.value - b.value || a.createdAt - b.createdAt || (a.key < b.key ? -1 : 1));
  for (const { key, bytes } of order) {
    if (excess <= 0) break;
    victims.push(key);
    excess -= bytes;
  }
  return victims;
}
