// A log that seems to have lost its end is looked at again before it is believed: a broker that was
// just elected may not know its own end yet, and going back would do finished work twice. Pure but
// for the clock that is passed in.

/** How long it must seem so. */
const doubtMs = 2_000;

export interface Doubts {
  /** Whether what is seen of the partition now has been seen for long enough. */
  isSettled(key: string): boolean;
  /** It is not seen any more. */
  clear(key: string): void;
}

export function createDoubts(now: () => number, forMs = doubtMs): Doubts {
  const since = new Map<string, number>();
  return {
    isSettled(key) {
      const first = since.get(key);
      if (first === undefined) since.set(key, now());
      return now() - (first ?? now()) >= forMs;
    },
    clear: (key) => void since.delete(key),
  };
}
