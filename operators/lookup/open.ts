// The response cache for lookup: follows `response-cache`, with popularities from ClickHouse. call
// writes it (operators/call/open.ts).
import type { Logger } from "pino";
import { answerTtlMs } from "../../config/sections/cache.ts";
import { createAdaptive } from "../../algorithms/response-cache/adaptive.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { createCacheMetrics } from "../../state/response-cache/metrics.ts";
import type { CacheLookup } from "./lookup.ts";
import { createCacheEntries, type CacheEntries } from "../../state/response-cache/entries.ts";
import type { SentResponse } from "../../state/sent-response.ts";
import { createLeaderOutcomes } from "../../state/response-cache/leader-outcomes.ts";
import { createUnderWay } from "../../state/response-cache/under-way.ts";
import type { Opened } from "../../runtime/opened.ts";
import { followTable } from "../../runtime/table.ts";
import { withTimeout } from "../../runtime/with-timeout.ts";
import type { SessionOf } from "../../state/session.ts";

/** A process answers without what is not there by then: a miss costs a model call, nothing else. */
const restoreMs = { asked: 5_000, answers: 10_000 };
const sweepMs = 30_000;
/** Repeats that wait for one request under way; limits.parked bounds them in all and by tenant. */
const mostFollowers = 1_024;

export type OpenedLookup = Opened<{ responseCache: CacheLookup | undefined }>;

/** Without a response cache. */
const noCache: OpenedLookup = {
  dependencies: { responseCache: undefined },
  stop: () => Promise.resolve(),
};

/** Resolves when the entries of the topic are restored, or after some seconds. */
export async function openLookup(
  session: SessionOf<{ tables: ["response-cache", "ClickHouse"] }>,
  { sent, log }: { sent: SentResponse; log: Logger },
): Promise<OpenedLookup> {
  const { kafka, codec, clickhouse, topic } = session;
  const { cache } = session.config;
  if (!cache.enabled) return noCache;
  const clock = Date.now;
  const metrics = createCacheMetrics(session.metrics);
  const underWay = createUnderWay({
    ...{ outcomes: createLeaderOutcomes(clickhouse, sent), followers: mostFollowers, clock, log },
  });
  const policy = createAdaptive(cache.budgetBytes, { outsidePerEntry: 2 });
  const entries = createCacheEntries({ policy, clock, onAnswer: underWay.answered });
  await withTimeout(restoreMs.asked, restoreAsked(clickhouse, entries, log));
  const reader = followTable({
    ...{ kafka, codec, log, topic: topic("response-cache"), record: "response-cache" as const },
    async apply(changes) {
      for (const [i, { key, value }] of changes.entries()) {
        entries.apply(key, value);
        if (i % 256 === 255) await new Promise((resolve) => setImmediate(resolve));
      }
      metrics.set(entries.figures());
    },
  });
  await withTimeout(restoreMs.answers, reader.caughtUp);
  const sweep = setInterval(() => {
    entries.sweep();
    underWay.sweep();
    metrics.set(entries.figures());
  }, sweepMs);
  sweep.unref();
  return {
    dependencies: {
      responseCache: {
        ...{ entries, underWay, sampled: cache.sampled, onResult: metrics.count },
        ttlMs: (domain) => answerTtlMs(cache, domain),
      },
    },
    async stop() {
      clearInterval(sweep);
      await reader.stop();
    },
  };
}

// Cache keys asked for within a day, by how often. Entered in reverse: a small memory holds those
// asked for most.
const ASKED = `
  SELECT concat(domain, '/', cache_key) AS key, least(count(), 64) AS times FROM decisions
  WHERE cache_key != '' AND created_at >= now('UTC') - INTERVAL 1 DAY
  GROUP BY domain, cache_key ORDER BY count() DESC LIMIT 20000`;

/** Approximately: how often, and not when. Never rejects. */
async function restoreAsked(
  clickhouse: Pick<ClickHouse, "query">,
  entries: Pick<CacheEntries, "asked">,
  log: Logger,
): Promise<void> {
  try {
    const rows = await clickhouse.query<{ key: string; times: number | string }>(ASKED);
    for (const [i, { key, times }] of rows.reverse().entries()) {
      entries.asked(key, Number(times));
      if (i % 256 === 255) await new Promise((resolve) => setImmediate(resolve));
    }
  } catch (error) {
    log.warn({ err: error }, "how often answers were asked for could not be restored");
  }
}
