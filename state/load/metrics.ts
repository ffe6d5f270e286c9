// What routing knows of the arms' load, for dashboards and autoscaling (docs/operations.md). Every
// plan process measures the same: take the largest.
import { loadGamma, pressure, saturationGamma, type Load } from "../../algorithms/routing/load-bias.ts";
import { gaugesOf } from "../../runtime/metrics/instruments.ts";
import type { MetricsRegistry } from "../../runtime/metrics/stage.ts";

/** Once a process; load and saturation say from which utilisation on each presses. */
export function createLoadMetrics(
  registry: MetricsRegistry,
  { load, saturation }: { load: { threshold: number }; saturation: { threshold: number } },
) {
  const gauge = gaugesOf(registry);
  const costlier = gauge("precedent_load", "L: mean utilisation of the arms more expensive than the cheapest.");
  const pressing = gauge("precedent_load_pressure", "How hard that load presses on expensive arms, 0 to 1.");
  const utilisation = gauge(
    "precedent_arm_utilisation",
    "Requests that an arm has not finished over what its processes take at a time.",
    ["arm"],
  );
  const saturated = gauge("precedent_arm_saturation", "How hard an arm's own utilisation presses on it, 0 to 1.", [
    "arm",
  ]);
  return {
    set({ costlier: value, byArm }: Load): void {
      costlier.set(value);
      pressing.set(pressure(value, { ...load, gamma: loadGamma }));
      // An arm that was removed has no load.
      utilisation.reset();
      saturated.reset();
      for (const [arm, own] of byArm) {
        utilisation.set({ arm }, own);
        saturated.set({ arm }, pressure(own, { ...saturation, gamma: saturationGamma }));
      }
    },
  };
}
