// Confirms that a log was truncated by looking again: a broker that was just elected may not know
// its own end yet, and going back would repeat finished work. Pure but for the clock.

const confirmMs = 2_000;

export interface TruncationCheck {
  /** Whether what is seen of the partition now has been seen for long enough. */
  isConfirmed(key: string): boolean;
  /** It is not seen any more. */
  clear(key: string): void;
}

export function confirmTruncation(now: () => number, forMs = confirmMs): TruncationCheck {
  const since = new Map<string, number>();
  return {
    isConfirmed(key) {
      const first = since.get(key);
      if (first === undefined) since.set(key, now());
      return now() - (first ?? now()) >= forMs;
    },
    clear: (key) => void since.delete(key),
  };
}
