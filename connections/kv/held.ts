// What the store knows of an entry, others' views of it, and values of what was evicted.
import { type Evictable, type ReuseValue, valueAt } from "../../algorithms/linked-prefill/reuse-value.ts";
import type { KvEntry, KvListed } from "./port.ts";

export interface Held {
  entry: KvEntry;
  /** null: not in memory. */
  blob: Uint8Array | null;
  /** Its bytes while they wait to be written; counted against the queue. */
  waiting: Uint8Array | null;
  disk: boolean;
  value: ReuseValue;
  pinned: boolean;
  expiresAt: number | null;
}

export const evictable = ({ entry, value }: Held, pinned: boolean, now: number, halfLife: number): Evictable => ({
  key: entry.key,
  bytes: entry.bytes,
  value: valueAt(value, now, halfLife),
  createdAt: entry.createdAt,
  pinned,
});

export function listed(held: Held, ids: readonly string[], now: number, halfLife: number): KvListed {
  const { entry, blob, disk, value, pinned, expiresAt } = held;
  return {
    ...entry,
    value: valueAt(value, now, halfLife),
    memory: blob !== null,
    disk,
    pinned,
    expiresAt,
    ids,
  };
}

const mostGhosts = 10_000;

/** Values of evicted entries, from which a returning one continues. */
export function createGhosts(): {
  take(key: string): ReuseValue | undefined;
  keep(key: string, value: ReuseValue): void;
} {
  const values = new Map<string, ReuseValue>();
  return {
    take(key) {
      const found = values.get(key);
      values.delete(key);
      return found;
    },
    keep(key, value) {
      values.delete(key);
      values.set(key, value);
      const [oldest] = values.keys();
      if (values.size > mostGhosts && oldest !== undefined) values.delete(oldest);
    },
  };
}
