// Has a worker do its idle work while no request is under way: at once as long as there is more,
// else now and then.
import { setTimeout as sleep } from "node:timers/promises";

export interface Upkeep {
  interrupt(): void;
  /** Resolves when nothing is under way any more. */
  close(): Promise<void>;
}

export interface UpkeepOptions {
  busy: () => boolean;
  /** Does one thing; whether there is more. A rejection waits like nothing to do. */
  work: (signal: AbortSignal) => Promise<boolean>;
  /** Milliseconds between two looks while there is nothing to do. Default 1,000. */
  pauseMs?: number;
}

export function startUpkeep({ busy, work, pauseMs = 1_000 }: UpkeepOptions): Upkeep {
  const closing = new AbortController();
  let current = new AbortController();

  async function loop(): Promise<void> {
    while (!closing.signal.aborted) {
      let more = false;
      if (!busy()) {
        current = new AbortController();
        more = await work(AbortSignal.any([current.signal, closing.signal])).catch(() => false);
      }
      if (!more || busy())
        await sleep(pauseMs, undefined, { signal: closing.signal, ref: false }).catch(() => undefined);
    }
  }
  const ended = loop();
  return {
    interrupt: () => current.abort(),
    close: () => {
      closing.abort();
      return ended;
    },
  };
}
