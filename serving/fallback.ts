// Which arms take over from arms that fail, of those in force in this process.
import type { ArmConfig } from "../config/schema.ts";
import { createBreakerMetrics } from "../metrics/breakers.ts";
import { createFallback, type Fallback } from "../operators/call/fallback.ts";
import { computing } from "../operators/route/arms.ts";
import type { Breakers } from "./breakers.ts";
import type { SessionOf } from "./session.ts";

/** isNear: arms that come before the others, whose answer is not known to take longer. */
export function fallbackOf(
  { arms, config, metrics }: Pick<SessionOf<object>, "arms" | "config" | "metrics">,
  breakers: Pick<Breakers, "state">,
  isNear: (arm: ArmConfig) => boolean = () => true,
): Fallback {
  return createFallback({
    arms: () => computing(arms.routed()),
    isWell: (arm) => breakers.state(arm) === "closed",
    isNear: (name) => arms.configured().some((arm) => arm.name === name && isNear(arm)),
    most: config.routing.fallbacks,
    onFallback: createBreakerMetrics(metrics).fallback,
  });
}
