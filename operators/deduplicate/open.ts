// The ids that were seen and their first responses. A process knows a partition's ids before it
// takes its first request; they are in Kafka. Only the first responses are in ClickHouse.
import type { Logger } from "pino";
import type { SentResponse } from "../../state/sent-responses.ts";
import type { SessionOf } from "../../state/session.ts";
import { redactsFirst } from "../redaction.ts";
import { createFirstResponses, type FirstResponses, type FoundResponse } from "./first-responses.ts";
import { createSeenIdsMetrics } from "./metrics.ts";
import { createRestore, type Restore } from "./restore.ts";
import { createSeenIds, type SeenIds } from "./seen.ts";
import { LRUCache } from "lru-cache";
import { requestKey } from "../../algorithms/identity/identity.ts";

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

interface Look {
  found: Promise<FoundResponse | null>;
  /** When it was asked, milliseconds since the epoch. */
  at: number;
}

/** What was found so lately is not asked again; a response never changes once it is there. */
const freshMs = 500;
/** Requests whose responses were looked for lately. */
const limit = 4_096;

/** One look-up serves all repeats of an id: hundreds may wait for the same first response. */
export function createSharedResponses(responses: FirstResponses): FirstResponses {
  const looks = new LRUCache<string, Look>({ max: limit });
  return {
    find(tenant, requestId, now) {
      const key = requestKey(tenant, requestId);
      const last = looks.get(key);
      if (last !== undefined && Math.abs(now - last.at) < freshMs) return last.found;
      const found = responses.find(tenant, requestId, now);
      const look = { found, at: now };
      looks.set(key, look);
      found.catch(() => {
        if (looks.get(key) === look) looks.delete(key);
      });
      return found;
    },
  };
}
