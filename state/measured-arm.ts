// An arm whose answers are counted (runtime/metrics/calls.ts).
import type { Arm } from "../arms/arm.ts";
import type { CallMetrics } from "../runtime/metrics/calls.ts";

export function measureArm(arm: Arm, metrics: CallMetrics): Arm {
  metrics.opened(arm.name);
  return {
    ...arm,
    async answer(request, signal, onText) {
      const result = await arm.answer(request, signal, onText);
      if (result.kind === "answer") metrics.answered(arm.name, result);
      return result;
    },
  };
}
