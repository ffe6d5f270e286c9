// The response cache around the stages: plan follows the topic `answers` and knows from ClickHouse
// how often each key was asked for; whoever calls arms decides what of their answers is kept.
import type { Logger } from "pino";
import type { CacheConfig } from "../config/sections/cache.ts";
import { answerTtlMs } from "../config/sections/cache.ts";
import { createAdaptive } from "../algorithms/response-cache/adaptive.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import { TextError } from "../connections/text/port.ts";
import { createCacheMetrics } from "../state/response-cache/metrics.ts";
import { createKeep, type Keep } from "../operators/call/keep.ts";
import type { CacheLookup } from "../operators/lookup/lookup.ts";
import { createKeptAnswers, type KeptAnswers } from "../state/response-cache/entries.ts";
import type { SentResponse } from "../state/sent-response.ts";
import { createLeaderOutcomes } from "../state/response-cache/leader-outcomes.ts";
import { createUnderWay } from "../state/response-cache/under-way.ts";
import { followTable } from "../runtime/table.ts";
import { atMost } from "../runtime/at-most.ts";
import type { SessionOf } from "../state/session.ts";

/** A process answers without what is not there by then: a miss costs a model call, nothing else. */
const restoreMs = { asked: 5_000, answers: 10_000 };
const sweepMs = 30_000;
/** Longest look for personal data in an answer, which waits for it. */
const cleanMs = 250;

export interface HeldAnswers {
  lookup: CacheLookup;
  stop(): Promise<void>;
}

/** Resolves when what was kept before is there, or after some seconds. */
export async function holdAnswers(
  session: SessionOf<{ tables: ["answers", "ClickHouse"] }>,
  { sent, log }: { sent: SentResponse; log: Logger },
): Promise<HeldAnswers> {
  const { kafka, codec, clickhouse, topic } = session;
  const { cache } = session.config;
  const clock = Date.now;
  const metrics = createCacheMetrics(session.metrics);
  const underWay = createUnderWay({
    ...{ outcomes: createLeaderOutcomes(clickhouse, sent), followers: cache.followers, clock, log },
  });
  const policy = createAdaptive(cache.budgetBytes, { outsidePerEntry: 2 });
  const kept = createKeptAnswers({ policy, clock, onAnswer: underWay.answered });
  await atMost(restoreMs.asked, restoreAsked(clickhouse, kept, log));
  const reader = followTable({
    ...{ kafka, codec, log, topic: topic("answers"), record: "answers" as const },
    async apply(changes) {
      for (const [i, { key, value }] of changes.entries()) {
        kept.apply(key, value);
        if (i % 256 === 255) await new Promise((resolve) => setImmediate(resolve));
      }
      metrics.set(kept.figures());
    },
  });
  await atMost(restoreMs.answers, reader.caughtUp);
  const sweep = setInterval(() => {
    kept.sweep();
    underWay.sweep();
    metrics.set(kept.figures());
  }, sweepMs);
  sweep.unref();
  return {
    lookup: { kept, underWay, ttlMs: ttlOf(cache), sampled: cache.sampled, onResult: metrics.count },
    async stop() {
      clearInterval(sweep);
      await reader.stop();
    },
  };
}

const ttlOf =
  (cache: CacheConfig) =>
  (domain: string): number =>
    answerTtlMs(cache, domain);

// Of the last day, the most asked for last, so that they are the ones that a small memory holds.
const ASKED = `
  SELECT concat(domain, '/', cache_key) AS key, least(count(), 64) AS times FROM decisions
  WHERE cache_key != '' AND created_at >= now('UTC') - INTERVAL 1 DAY
  GROUP BY domain, cache_key ORDER BY count() DESC LIMIT 20000`;

/** Approximately: how often, and not when. Never rejects. */
async function restoreAsked(
  clickhouse: Pick<ClickHouse, "query">,
  kept: Pick<KeptAnswers, "asked">,
  log: Logger,
): Promise<void> {
  try {
    const rows = await clickhouse.query<{ key: string; times: number | string }>(ASKED);
    for (const [i, { key, times }] of rows.reverse().entries()) {
      kept.asked(key, Number(times));
      if (i % 256 === 255) await new Promise((resolve) => setImmediate(resolve));
    }
  } catch (error) {
    log.warn({ err: error }, "how often answers were asked for could not be restored");
  }
}

/** What is kept of an arm's answers; undefined: nothing ever is. */
export function keepAnswers(
  { config, text }: Pick<SessionOf<object>, "config" | "text">,
  log: Logger,
): Keep | undefined {
  const { cache, curate } = config;
  if (!cache.enabled) return undefined;
  const isClean = async (answer: string): Promise<boolean> => {
    try {
      const redacted = await atMost(cleanMs, text.redact([answer], curate.personalData));
      return redacted?.[0] === answer;
    } catch (error) {
      if (!(error instanceof TextError)) throw error;
      log.debug({ err: error }, "whether an answer holds personal data could not be told: it is not kept");
      return false;
    }
  };
  return createKeep({ ttlMs: ttlOf(cache), maxBytes: cache.maxBytes, isClean });
}
