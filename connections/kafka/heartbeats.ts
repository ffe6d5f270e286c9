// Heartbeats of batches that are being worked on. One timer for all of them: most batches are done
// within milliseconds, and a timer for each was 1.4 % of the CPU of a busy process.

/**
 * Gives a function that calls `beat` every `everyMs` milliseconds until the work has settled, and
 * then settles as the work did. The first call may come earlier. `beat` must not throw.
 */
export function createHeartbeats(everyMs: number) {
  const working = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;
  const tick = (): void => {
    for (const beat of working) beat();
    if (working.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  return async function beatDuring<T>(beat: () => void, work: T | Promise<T>): Promise<T> {
    working.add(beat);
    timer ??= setInterval(tick, everyMs).unref();
    try {
      return await work;
    } finally {
      working.delete(beat);
    }
  };
}
