// Detects work that makes no progress. It counts checks and reads no clock, so time in which this
// process was blocked, or the machine slept, does not count.

const looks = 10;

/** Calls onStall while busy without progress for `stallMs`, again and again until stop(). */
export function createWatchdog(stallMs: number, busy: () => boolean, onStall: () => void) {
  let quiet = 0;
  const timer = setInterval(() => {
    quiet = busy() ? quiet + 1 : 0;
    if (quiet <= looks) return;
    quiet = 0;
    onStall();
  }, stallMs / looks);
  timer.unref();
  return {
    /** It moved on. */
    progress: (): void => {
      quiet = 0;
    },
    stop: (): void => clearInterval(timer),
  };
}
