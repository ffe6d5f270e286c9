// Reads back in time by ever longer windows, so that a month is not read for the newest few rows.

export interface Window {
  /** Milliseconds since the epoch: [from, until). */
  from: number;
  until: number;
}

/**
 * Calls read for windows back from the end of `all`, the first firstMs long, each four times as
 * long as the one before, or as long as the one before says fits into the rest of mostMs; until
 * isEnough or for mostMs. Resolves with where it stopped; all.from: everything was read.
 */
export async function readBack(
  all: Window,
  { firstMs, mostMs }: { firstMs: number; mostMs: number },
  isEnough: () => boolean,
  read: (window: Window) => Promise<void>,
): Promise<number> {
  const begun = performance.now();
  let [until, length] = [all.until, firstMs];
  while (until > all.from && !isEnough() && performance.now() - begun < mostMs) {
    const from = Math.max(all.from, Math.floor(until - length));
    const beginning = performance.now();
    await read({ from, until });
    const now = performance.now();
    const fitting = (begun + mostMs - now) / Math.max(1, now - beginning);
    [until, length] = [from, Math.max(1, length * Math.min(4, fitting))];
  }
  return until;
}
