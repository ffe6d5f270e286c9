// Which arms take over from arms that fail, of those in force in this process.
import { createBreakerMetrics } from "../state/breakers/metrics.ts";
import { createFallback, type Fallback } from "../operators/call/fallback.ts";
import { computing } from "../arms/routed.ts";
import type { Breakers } from "../state/breakers/breakers.ts";
import type { SessionOf } from "../state/session.ts";

export function fallbackOf(
  { arms, config, metrics }: Pick<SessionOf<object>, "arms" | "config" | "metrics">,
  breakers: Pick<Breakers, "state">,
): Fallback {
  return createFallback({
    arms: () => computing(arms.routed()),
    isWell: (arm) => breakers.state(arm) === "closed",
    most: config.routing.fallbacks,
    onFallback: createBreakerMetrics(metrics).fallback,
  });
}
