// Detects work that makes no progress. It counts checks and reads no clock, so time in which this
// process was blocked, or the machine slept, does not count.

export interface Watchdog {
  /** It moved on. */
  progress(): void;
  stop(): void;
}

const looks = 10;

/** Calls onStall while busy without progress for `stallMs`, again and again until stop(). */
export function createWatchdog(stallMs: number, busy: () => boolean, onStall: () => void): Watchdog {
  let quiet = 0;
  const timer = setInterval(() => {
    quiet = busy() ? quiet + 1 : 0;
    if (quiet <= looks) return;
    quiet = 0;
    onStall();
  }, stallMs / looks);
  timer.unref();
  return {
    progress: () => {
      quiet = 0;
    },
    stop: () => clearInterval(timer),
  };
}
