// How long to wait between attempts: the first wait, doubled after every failure up to a limit.
// Pure: it neither sleeps nor looks at a clock.

export interface Waits {
  /** Milliseconds, as everything here. */
  first: number;
  limit: number;
}

export interface Backoff {
  next(): number;
  /** An attempt succeeded: the next wait is the first one again. */
  reset(): void;
}

/** What 2 ** failures is capped at, so that no count overflows. */
const mostDoublings = 30;

/** The next wait after this many waits; 0 gives the first one. */
export const waitAfter = (waits: number, { first, limit }: Waits): number =>
  waits <= 0 ? first : Math.min(limit, first * 2 ** Math.min(waits, mostDoublings));

export function backoff(waits: Waits): Backoff {
  let done = 0;
  return {
    next: () => waitAfter(done++, waits),
    reset() {
      done = 0;
    },
  };
}
