// Progress of a model's process, told often enough for the watchdog and seldom enough to cost nothing.

/** Passes on a call at most every 250 ms. */
export function seldom(report: () => void): () => void {
  let last = -Infinity;
  return () => {
    const now = performance.now();
    if (now - last < 250) return;
    last = now;
    report();
  };
}
