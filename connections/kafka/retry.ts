// Retries until the broker is back or the caller aborts.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { backoff } from "../../algorithms/queueing/backoff.ts";
import { rarely } from "../../algorithms/queueing/rarely.ts";
import { remedyOf } from "../security/errors.ts";

const waitMs = { first: 50, limit: 5_000 };
/** A broker that restarts is back by then; a refusal, such as by an ACL, never goes by itself. */
export const warnMs = { first: 3_000, limit: 60_000 };

export interface Retrying {
  log: Pick<Logger, "debug" | "warn">;
  /** What the attempt is about; logged with the reason why it waits. */
  topic?: string;
  stopped?: () => boolean;
  /** Rejects where the broker refuses us; absent: that is waited for, too. */
  endsOnRefusal?: boolean | undefined;
}

/** The attempt's value; undefined when stopped before one succeeded. */
export async function untilReachable<T>(
  attempt: () => Promise<T>,
  { log, topic, stopped = () => false, endsOnRefusal = false }: Retrying,
): Promise<T | undefined> {
  const waits = backoff(waitMs);
  const due = rarely(warnMs, () => performance.now());
  while (!stopped()) {
    try {
      return await attempt();
    } catch (error) {
      if (endsOnRefusal && remedyOf(error) !== undefined) throw error;
      log[due() ? "warn" : "debug"]({ err: error, topic }, "Kafka is not ready for this, trying again");
      await sleep(waits.next());
    }
  }
  return undefined;
}
