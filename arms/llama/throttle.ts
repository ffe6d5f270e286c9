// Progress reports of a model's process: often enough for the watchdog, rarely enough to cost
// nothing.

const intervalMs = 250;

/** Passes on a call at most every 250 ms. */
export function throttle(report: () => void): () => void {
  let last = -Infinity;
  return () => {
    const now = performance.now();
    if (now - last < intervalMs) return;
    last = now;
    report();
  };
}
