// Confirms that a log was truncated by looking again: a broker that was just elected may not know
// its own end yet, and going back would repeat finished work. Pure but for the clock.

const confirmMs = 2_000;

export type TruncationCheck = ReturnType<typeof confirmTruncation>;

export function confirmTruncation(now: () => number, forMs = confirmMs) {
  const since = new Map<string, number>();
  return {
    /** Whether what is seen of the partition now has been seen for long enough. */
    isConfirmed(key: string): boolean {
      const first = since.get(key);
      if (first === undefined) since.set(key, now());
      return now() - (first ?? now()) >= forMs;
    },
    /** It is not seen any more. */
    clear: (key: string): void => void since.delete(key),
  };
}
