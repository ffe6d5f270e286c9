// Has a worker do its idle work while no request is under way: at once as long as there is more,
// else now and then. Under steady load it gets a tenth of the time, or caches would never be made.
import { setTimeout as sleep } from "node:timers/promises";

export interface UpkeepOptions {
  busy: () => boolean;
  /** Does one thing; whether there is more. A rejection waits like nothing to do. */
  work: (signal: AbortSignal) => Promise<boolean>;
  /** Milliseconds between two looks while there is nothing to do. Default 1,000. */
  pauseMs?: number;
  /** Milliseconds of a monotonic clock. */
  now?: () => number;
}

const shareUnderLoad = 0.1;
/** Earned in the last half minute of load at most; and in the second before anything is begun. */
const mostEarnedMs = 3_000;
const leastEarnedMs = 100;

export function startUpkeep({ busy, work, pauseMs = 1_000, now = () => performance.now() }: UpkeepOptions) {
  const closing = new AbortController();
  let current = new AbortController();
  /** Under load one thing is done whenever this is enough; its time is then taken off. */
  let earnedMs = 0;
  let counted = { at: now(), busy: false };

  function count(spentMs: number): void {
    const next = { at: now(), busy: busy() };
    if (counted.busy) earnedMs = Math.min(mostEarnedMs, earnedMs + shareUnderLoad * (next.at - counted.at));
    earnedMs = next.busy ? earnedMs - spentMs : Math.max(0, earnedMs);
    counted = next;
  }
  const mayWork = (): boolean => !busy() || earnedMs >= leastEarnedMs;

  async function loop(): Promise<void> {
    while (!closing.signal.aborted) {
      let more = false;
      count(0);
      if (mayWork()) {
        current = new AbortController();
        const began = now();
        more = await work(AbortSignal.any([current.signal, closing.signal])).catch(() => false);
        count(now() - began);
      }
      if (!more || !mayWork())
        await sleep(pauseMs, undefined, { signal: closing.signal, ref: false }).catch(() => undefined);
    }
  }
  const ended = loop();
  return {
    /** A request came: what is under way stops, unless its time under load is due. */
    interrupt: (): void => {
      count(0);
      if (!mayWork()) current.abort();
    },
    /** Resolves when nothing is under way any more. */
    close: (): Promise<void> => {
      closing.abort();
      return ended;
    },
  };
}
