// How long to wait between attempts: the first wait, doubled after every failure up to a limit.
// Pure: it neither sleeps nor looks at a clock.

export interface Waits {
  /** Milliseconds, as everything here. */
  first: number;
  limit: number;
}

export type Backoff = ReturnType<typeof backoff>;

/** What 2 ** failures is capped at, so that no count overflows. */
const mostDoublings = 30;

/** The next wait after this many waits; 0 gives the first one. */
export const waitAfter = (waits: number, { first, limit }: Waits): number =>
  waits <= 0 ? first : Math.min(limit, first * 2 ** Math.min(waits, mostDoublings));

export function backoff(waits: Waits) {
  let done = 0;
  return {
    next: (): number => waitAfter(done++, waits),
    /** An attempt succeeded: the next wait is the first one again. */
    reset(): void {
      done = 0;
    },
  };
}
