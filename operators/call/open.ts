// What calls of arms share in plan and in generate: pieces of answers for readers of streams, which
// arm takes over from one that fails, what the response cache gets, and personal data replaced.
import type { Logger } from "pino";
import { computing } from "../../arms/routed.ts";
import { answerTtlMs } from "../../config/sections/cache.ts";
import { TextError } from "../../connections/text/port.ts";
import { withTimeout } from "../../runtime/with-timeout.ts";
import type { Opened } from "../../runtime/opened.ts";
import { createBreakerMetrics } from "../../state/breakers/metrics.ts";
import type { Breakers } from "../../state/breakers/breakers.ts";
import { publishDeltas, type DeltasSession } from "../../state/deltas.ts";
import type { SessionOf } from "../../state/session.ts";
import { redactsResponses } from "../redaction.ts";
import type { CallDependencies } from "./call.ts";
import { createFallback, type Fallback } from "./fallback.ts";
import { createCacheEntry, type ToCacheEntry } from "./cache-entry.ts";

/** Longest look for personal data in an answer, which waits for it. */
const cleanMs = 250;

export type OpenedCall = Opened<Pick<CallDependencies, "deltas" | "fallback" | "toCacheEntry" | "redact">>;

/** Resolves when the brokers have said how many partitions the topics of pieces have. */
export async function openCall(
  session: DeltasSession & SessionOf<object>,
  { breakers, log }: { breakers: Pick<Breakers, "state">; log: Logger },
): Promise<OpenedCall> {
  const deltas = await publishDeltas(session, log);
  const redact = redactsResponses(session, log);
  return {
    dependencies: {
      // A name may end in the next piece: of answers that are redacted there are no pieces.
      deltas: redact === undefined ? deltas.open : undefined,
      fallback: fallbackOf(session, breakers),
      toCacheEntry: cacheEntryOf(session, log),
      redact,
    },
    stop: deltas.stop,
  };
}

function fallbackOf(
  { arms, config, metrics }: Pick<SessionOf<object>, "arms" | "config" | "metrics">,
  breakers: Pick<Breakers, "state">,
): Fallback {
  return createFallback({
    arms: () => computing(arms.routed()),
    isHealthy: (arm) => breakers.state(arm) === "closed",
    most: config.routing.fallbacks,
    onFallback: createBreakerMetrics(metrics).fallback,
  });
}

/** Makes the entries of the response cache; undefined: the cache is disabled. */
function cacheEntryOf(
  { config, text }: Pick<SessionOf<object>, "config" | "text">,
  log: Logger,
): ToCacheEntry | undefined {
  const { cache, curate } = config;
  if (!cache.enabled) return undefined;
  const isClean = async (answer: string): Promise<boolean> => {
    try {
      const redacted = await withTimeout(cleanMs, text.redact([answer], curate.personalData));
      return redacted?.[0] === answer;
    } catch (error) {
      if (!(error instanceof TextError)) throw error;
      log.debug({ err: error }, "personal data in an answer could not be checked in time: it is not cached");
      return false;
    }
  };
  return createCacheEntry({ ttlMs: (domain) => answerTtlMs(cache, domain), maxBytes: cache.maxBytes, isClean });
}
