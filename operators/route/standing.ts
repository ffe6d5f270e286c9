// Which allowed arms may be chosen: those whose breakers let calls through; if none, all.
// Probabilities are among these, so exact. Pure.
import type { BreakerState } from "../../algorithms/queueing/breaker.ts";

export interface ArmHealth {
  /** half-open: it may be chosen, as a probe. */
  state(arm: string): BreakerState;
  probed(arm: string): void;
}

export const healthyArms: ArmHealth = { state: () => "closed", probed: () => undefined };

export interface Standing<C> {
  eligible: readonly C[];
  /** State of each that is not closed; ends in Decision.breakers. */
  breakers: Record<string, BreakerState>;
  /** breaker: some arm could not be chosen, or none is healthy. */
  degraded: string[];
}

export function standing<C extends { arm: { name: string } }>(
  contenders: readonly C[],
  { state }: Pick<ArmHealth, "state">,
): Standing<C> {
  const states = contenders.map(({ arm }) => state(arm.name));
  const breakers = Object.fromEntries(
    contenders.flatMap(({ arm }, i) => (states[i] === "closed" ? [] : [[arm.name, states[i]!] as const])),
  );
  const eligible = contenders.filter((_, i) => states[i] !== "open");
  const isShort = eligible.length < contenders.length;
  return { eligible: eligible.length > 0 ? eligible : contenders, breakers, degraded: isShort ? ["breaker"] : [] };
}
