// Initialises a stage's producer, which fences a predecessor and ends its open transaction; waits
// for the broker as long as the stage runs.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { backoff } from "../algorithms/queueing/backoff.ts";
import type { TransactionalProducer } from "../connections/kafka/port.ts";

export interface Initialising {
  producer: Pick<TransactionalProducer, "initialise">;
  stopped: () => boolean;
  log: Logger;
}

const retryMs = { first: 100, limit: 5_000 };

export async function initialised({ producer, stopped, log }: Initialising): Promise<void> {
  const waits = backoff(retryMs);
  for (;;) {
    try {
      await producer.initialise();
      return;
    } catch (error) {
      log.warn({ err: error }, "can't initialise the producer, trying again");
      await sleep(waits.next());
      if (stopped()) throw error;
    }
  }
}
