// Rows that the topic has deleted and that searches may still find: the collection lags the topic,
// and a search may see a state some seconds old. Bounded: of deletions that do not fit only the
// last offset is kept, and nothing is shown until the collection has passed it.
export interface Withdrawn {
  /** Call in the order of the partition; isGone: a tombstone. */
  note(partition: number, offset: number, key: string, isGone: boolean): void;
  has(key: string): boolean;
  size(): number;
  /** settled, by partition: no search finds rows that a record before this offset deleted. */
  settle(settled: readonly number[]): void;
  /** Whether it knows all that searches may find. */
  isComplete(): boolean;
}

const mostKeys = 100_000;

export function createWithdrawn(most = mostKeys): Withdrawn {
  const known = new Map<string, { partition: number; offset: number }>();
  /** The last offset of each partition for which there was no room. */
  const unknown = new Map<number, number>();
  return {
    note(partition, offset, key, isGone) {
      known.delete(key);
      if (!isGone) return;
      if (known.size < most) known.set(key, { partition, offset });
      else unknown.set(partition, offset);
    },
    has: (key) => known.has(key),
    size: () => known.size,
    settle(settled) {
      const isPassed = (partition: number, offset: number): boolean => offset < (settled[partition] ?? 0);
      for (const [key, { partition, offset }] of known) if (isPassed(partition, offset)) known.delete(key);
      for (const [partition, offset] of unknown) if (isPassed(partition, offset)) unknown.delete(partition);
    },
    isComplete: () => unknown.size === 0,
  };
}
