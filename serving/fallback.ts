// Which arms take over from arms that fail, of those in force in this process.
import type { ArmConfig } from "../config/schema.ts";
import { createBreakerMetrics } from "../metrics/breakers.ts";
import { createFallback, type Fallback } from "../operators/call/fallback.ts";
import type { Breakers } from "./breakers.ts";
import type { SessionOf } from "./session.ts";

/** isNear: arms that come before the others, whose answer is not known to take longer. */
export function fallbackOf(
  { arms, config, metrics }: Pick<SessionOf<object>, "arms" | "config" | "metrics">,
  breakers: Pick<Breakers, "state">,
  isNear: (arm: ArmConfig) => boolean = () => true,
): Fallback {
  return createFallback({
    arms: arms.routed,
    // What reuses answers was not chosen for this request, and has no say where the others fail.
    isWell: (name) =>
      breakers.state(name) === "closed" && arms.routed().find((arm) => arm.name === name)?.reuse === undefined,
    isNear: (name) => arms.configured().some((arm) => arm.name === name && isNear(arm)),
    most: config.routing.fallbacks,
    onFallback: createBreakerMetrics(metrics).fallback,
  });
}
