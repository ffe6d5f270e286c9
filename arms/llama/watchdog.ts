// Notices that something that has work to do does not move on. It counts looks and reads no clock:
// time in which this process itself stood still, or the machine slept, is nobody's fault.

export interface Watchdog {
  /** It moved on. */
  progress(): void;
  stop(): void;
}

const looks = 10;

/**
 * Calls onStall when `busy` held and there was no progress for `stallMs`, and again after as long;
 * stop() ends it.
 */
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
