// Retries until the broker is back or the caller aborts.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { backoff } from "../../algorithms/queueing/backoff.ts";

const waitMs = { first: 50, limit: 5_000 };

/** The attempt's value; undefined when stopped before one succeeded. */
export async function untilReachable<T>(
  attempt: () => Promise<T>,
  log: Logger,
  stopped: () => boolean = () => false,
): Promise<T | undefined> {
  const waits = backoff(waitMs);
  while (!stopped()) {
    try {
      return await attempt();
    } catch (error) {
      log.debug({ err: error }, "Kafka is not ready for this, trying again");
      await sleep(waits.next());
    }
  }
  return undefined;
}
