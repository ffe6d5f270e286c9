// The ids that were seen and their first responses. A process must know a partition's ids before it
// takes its first request. Answering matters more than knowing them: without them a repeat that
// crosses this rebalance is answered anew, so a ClickHouse that fails or hangs is not waited for.
import type { Logger } from "pino";
import { withTimeout } from "../../runtime/with-timeout.ts";
import type { SentResponse } from "../../state/sent-response.ts";
import type { SessionOf } from "../../state/session.ts";
import { redactsFirst } from "../redaction.ts";
import { createFirstResponses, type FirstResponses } from "./first-responses.ts";
import { restoreSeen } from "./restore.ts";
import { createSeenIds, type SeenIds } from "./seen.ts";
import { createSharedResponses } from "./shared-responses.ts";

const restoreMs = 5_000;

export interface OpenedDeduplicate {
  dependencies: { seen: SeenIds; firstResponses: FirstResponses };
  /** Learns the ids of the last day, of partitions of the topic of requests. Never rejects. */
  adopt(partitions: readonly number[]): Promise<void>;
  drop(partition: number): void;
}

export interface DeduplicateOptions {
  sent: SentResponse;
  /** Milliseconds since the epoch. */
  clock: () => number;
  log: Logger;
}

export function openDeduplicate(
  session: Pick<SessionOf<{ tables: ["ClickHouse"] }>, "clickhouse" | "config" | "text" | "topic">,
  { sent, clock, log }: DeduplicateOptions,
): OpenedDeduplicate {
  const { clickhouse } = session;
  const seen = createSeenIds();
  const requests = session.topic("requests");
  return {
    dependencies: {
      seen,
      firstResponses: createSharedResponses(redactsFirst(session, createFirstResponses(clickhouse, sent))),
    },
    async adopt(partitions) {
      try {
        const found = await withTimeout(restoreMs, restoreSeen(clickhouse, requests, partitions, clock()));
        if (found === undefined) throw new Error(`ClickHouse has not answered within ${restoreMs} ms`);
        seen.restore(found);
      } catch (error) {
        log.warn({ err: error }, "the ids of the last day could not be restored");
      }
    },
    drop: seen.drop,
  };
}
