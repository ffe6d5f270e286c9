// Work that is repeated until it succeeds: for what has to be done, however long a dependency is
// away.
import { setTimeout as sleep } from "node:timers/promises";
import { backoff, type Waits } from "../algorithms/queueing/backoff.ts";

export interface UntilDone {
  waits: Waits;
  signal?: AbortSignal;
  /** An attempt failed; the next one comes after so many milliseconds, unless this throws. */
  onFailure?: ((error: unknown, retryInMs: number) => void) | undefined;
}

/** Rejects when the signal aborts, and with what onFailure throws. */
export async function untilDone<T>(work: () => Promise<T>, { waits, signal, onFailure }: UntilDone): Promise<T> {
  const pauses = backoff(waits);
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      signal?.throwIfAborted();
      const retryInMs = pauses.next();
      onFailure?.(error, retryInMs);
      await sleep(retryInMs, undefined, signal && { signal });
    }
  }
}
