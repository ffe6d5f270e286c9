// Repeats what the transaction's coordinator refuses because it is still busy with the request
// before: as a rule, the markers of the last transaction are still being written.
import { setTimeout as sleep } from "node:timers/promises";
import { kafkaErrorType } from "./errors.ts";

/** Milliseconds, as a rule. */
const pauseMs = 2;
const attempts = 2_000;

export async function whileConcurrent<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (kafkaErrorType(error) !== "CONCURRENT_TRANSACTIONS" || attempt >= attempts) throw error;
      await sleep(pauseMs);
    }
  }
}
