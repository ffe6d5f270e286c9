// Ends queries of gone clients by KILL QUERY, repeated, since a request is several queries. One
// that survives two minutes is reported.
import { setTimeout as delay } from "node:timers/promises";
import type { Session } from "chdb";

const everyMs = 500;
const limitMs = 120_000;

export function createEnder(open: () => Session, stuck: (reason: string) => void) {
  async function end(tag: string, over: AbortSignal): Promise<void> {
    const limit = performance.now() + limitMs;
    while (!over.aborted) {
      const session = open();
      try {
        // A tag is a UUID of ours.
        await session.queryAsync(`KILL QUERY WHERE Settings['log_comment'] = '${tag}' ASYNC`);
      } catch {
        // Tried again below.
      } finally {
        session.close();
      }
      if (performance.now() > limit) {
        stuck(`a query could not be ended within ${limitMs / 1000} s`);
        return;
      }
      await delay(everyMs, undefined, { signal: over }).catch(() => undefined);
    }
  }

  return {
    /** Ends queries with the tag as log_comment once the signal aborts. */
    watch(tag: string, signal: AbortSignal): () => void {
      const over = new AbortController();
      const start = (): void => void end(tag, over.signal);
      if (signal.aborted) start();
      else signal.addEventListener("abort", start, { once: true, signal: over.signal });
      return () => over.abort();
    },
  };
}
