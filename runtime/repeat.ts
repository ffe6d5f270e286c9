// Repeats a pass, ever later while a dependency is away. Never rejects; errors are logged.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { backoff } from "../algorithms/queueing/backoff.ts";

/** Between two passes that may come once a minute beside others that come every `everyMs`. */
export const slowerMs = (everyMs: number): number => Math.max(everyMs, Math.min(60_000, 30 * everyMs));

export interface RepeatOptions {
  everyMs: number;
  maxBackoffMs?: number;
  /** Told when a pass begins and how it ended. */
  health?: { began(): void; passed(): void; failed(error: unknown): void };
  signal: AbortSignal;
  log: Logger;
}

/** The same until it is stopped, which waits for the end of a pass under way. */
export function repeating(
  pass: () => Promise<unknown>,
  options: Omit<RepeatOptions, "signal">,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const ended = repeat(pass, { ...options, signal: stopping.signal });
  return {
    stop() {
      stopping.abort();
      return ended;
    },
  };
}

/** A pass that resolves to true has more to do at once. */
export async function repeat(
  pass: () => Promise<unknown>,
  { everyMs, maxBackoffMs = 30_000, health, signal, log }: RepeatOptions,
): Promise<void> {
  const waits = backoff({ first: everyMs, limit: Math.max(maxBackoffMs, everyMs) });
  let failures = 0;
  while (!signal.aborted) {
    let pause = everyMs;
    health?.began();
    try {
      if ((await pass()) === true) pause = 0;
      if (failures > 0) log.info({ failures }, "going on");
      failures = 0;
      waits.reset();
      health?.passed();
    } catch (error) {
      if (signal.aborted) return;
      failures++;
      health?.failed(error);
      pause = waits.next();
      log.warn({ err: error, failures, pause }, "a pass failed: nothing is lost, trying again");
    }
    await sleep(pause, undefined, { signal }).catch(() => undefined);
  }
}
