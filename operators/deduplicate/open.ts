// The ids that were seen and their first responses. A process knows a partition's ids before it
// takes its first request; they are in Kafka. Only the first responses are in ClickHouse.
import type { Logger } from "pino";
import type { SentResponse } from "../../state/sent-response.ts";
import type { SessionOf } from "../../state/session.ts";
import { redactsFirst } from "../redaction.ts";
import { createFirstResponses, type FirstResponses } from "./first-responses.ts";
import { createSeenIdsMetrics } from "./metrics.ts";
import { createRestore, type Restore } from "./restore.ts";
import { createSeenIds, type SeenIds } from "./seen.ts";
import { createSharedResponses } from "./shared-responses.ts";

export interface OpenedDeduplicate extends Omit<Restore, "waiting"> {
  dependencies: { seen: SeenIds; firstResponses: FirstResponses };
}

export interface DeduplicateOptions {
  sent: SentResponse;
  clock: () => number;
  log: Logger;
}

export function openDeduplicate(
  session: Pick<
    SessionOf<{ tables: ["ClickHouse", "seen-ids"] }>,
    "clickhouse" | "codec" | "config" | "kafka" | "metrics" | "text" | "topic"
  >,
  { sent, clock, log }: DeduplicateOptions,
): OpenedDeduplicate {
  const { clickhouse, codec, kafka, topic } = session;
  const seen = createSeenIds();
  const restore = createRestore({
    ...{ kafka, codec, topic: topic("seen-ids"), requests: topic("requests"), seen, clock, log },
  });
  const forgetFigures = createSeenIdsMetrics(session.metrics).add({ ids: seen.size, waiting: restore.waiting });
  return {
    dependencies: {
      seen,
      firstResponses: createSharedResponses(redactsFirst(session, createFirstResponses(clickhouse, sent))),
    },
    adopt: restore.adopt,
    drop(partition) {
      restore.drop(partition);
      seen.drop(partition);
    },
    stop() {
      forgetFigures();
      return restore.stop();
    },
  };
}
