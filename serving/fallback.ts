// Which arms take over from arms that fail, of those in force in this process.
import { createBreakerMetrics } from "../metrics/breakers.ts";
import { createFallback, type Fallback } from "../operators/call/fallback.ts";
import { computing } from "../operators/route/arms.ts";
import type { Breakers } from "./breakers.ts";
import type { SessionOf } from "./session.ts";

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
