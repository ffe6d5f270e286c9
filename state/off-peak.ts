// Lets work wait while the arms are busy with requests: nothing that can wait goes ahead of live
// traffic. It looks before every call, and gives up when it has waited long enough in all.
import { setTimeout as sleep } from "node:timers/promises";

export interface OffPeakOptions {
  load: () => number;
  /** Work goes on at this load and below. */
  limit: number;
  /** Milliseconds that it waits at most, all waits together. */
  mostMs: number;
  now: () => number;
  /** Between two looks. */
  everyMs?: number;
  /** When a wait begins and when it ends. */
  onWait?: (waits: boolean) => void;
}

export interface OffPeak {
  /** Resolves when the load permits: true; false: it has waited long enough. Rejects on abort. */
  pass(signal: AbortSignal): Promise<boolean>;
  waitedMs(): number;
}

export function createOffPeak(options: OffPeakOptions): OffPeak {
  const { load, limit, mostMs, now, everyMs = 1_000, onWait = () => undefined } = options;
  let waited = 0;
  let since: number | undefined;
  const waitedMs = (): number => waited + (since === undefined ? 0 : now() - since);
  return {
    waitedMs,
    async pass(signal) {
      signal.throwIfAborted();
      if (load() <= limit) return true;
      if (waitedMs() >= mostMs) return false;
      since = now();
      onWait(true);
      try {
        while (load() > limit && waitedMs() < mostMs)
          await sleep(Math.min(everyMs, Math.max(1, mostMs - waitedMs())), undefined, { signal });
        return load() <= limit;
      } finally {
        waited = waitedMs();
        since = undefined;
        onWait(false);
      }
    },
  };
}
