// A bounded number of statements at once and a bounded queue behind them, in order of arrival.
import { tooManyQueries } from "./errors.ts";

export function createLane(width: number, maxQueued: number) {
  let running = 0;
  const waiting: (() => void)[] = [];
  const drained: (() => void)[] = [];

  function release(): void {
    const next = waiting.shift();
    if (next)
      next(); // hands its slot over
    else running -= 1;
    if (running === 0) for (const resolve of drained.splice(0)) resolve();
  }

  /** A caller that goes away gives its slot in the queue back at once. */
  const turn = (signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.splice(waiting.indexOf(start), 1);
        reject(signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
      };
      const start = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      waiting.push(start);
      signal?.addEventListener("abort", leave, { once: true });
    });

  return {
    /** TOO_MANY_SIMULTANEOUS_QUERIES when full; as the signal says when aborted. */
    async add<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
      signal?.throwIfAborted();
      if (running < width) running += 1;
      else if (waiting.length < maxQueued) await turn(signal);
      else throw tooManyQueries(`${running} statements run and ${waiting.length} wait already; try again later.`);
      try {
        return await task();
      } finally {
        release();
      }
    },
    drain: (): Promise<void> =>
      running === 0 ? Promise.resolve() : new Promise<void>((resolve) => drained.push(resolve)),
  };
}
