// How much work that can wait is under way at a time: it grows while the arms have room, by no more
// than was finished, and is halved while they have none, as TCP's window. Near its deadline work is
// due whatever the load is.

export interface OffPeakWindowOptions {
  /** Work goes on at this load and below; 1: all slots are taken. */
  limit: number;
  /** Most that may be under way. */
  most: number;
  first?: number;
}

export interface OffPeakWindow {
  /** One of evenly spaced looks at the load; finished: pieces of work since the last. */
  observe(load: number, finished: number): void;
  /** How much may be under way; 0: the arms are busy. */
  size(): number;
}

export function createOffPeakWindow({ limit, most, first = 8 }: OffPeakWindowOptions): OffPeakWindow {
  let size = Math.min(first, most);
  let isBusy = false;
  return {
    observe(load, finished) {
      isBusy = load > limit;
      // The load is an average: it shows late what was begun.
      const growth = Math.min(finished, Math.max(1, Math.floor(size / 4)));
      size = isBusy ? Math.max(1, Math.floor(size / 2)) : Math.min(most, size + growth);
    },
    size: () => (isBusy ? 0 : size),
  };
}

/** Parts of the time until the deadline: when the first work is due, and when the last is. */
const firstDue = 0.5;
const lastDue = 0.9;

/**
 * How many of `total` pieces must have begun by now although the arms are busy: spread evenly over
 * the second half of the time, with a tenth left for the last answers. Times in milliseconds.
 */
export function dueBy(now: number, { from, until, total }: { from: number; until: number; total: number }): number {
  const passed = (now - from) / Math.max(1, until - from);
  const share = (passed - firstDue) / (lastDue - firstDue);
  return Math.ceil(total * Math.min(1, Math.max(0, share)));
}
