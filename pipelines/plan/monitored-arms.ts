// The arms as the load monitor reads them: of a queued one its work topic, of an inline one the
// calls that plan processes say they have under way; and of both what their engines report.
import type { Engines } from "../../arms/engines.ts";
import { isInline } from "../../config/sections/arms.ts";
import { plan } from "./pipeline.ts";
import { computing } from "../../arms/routed.ts";
import type { MonitoredArm } from "../../state/load/load.ts";
import type { SharedCalls } from "../../state/inline-calls.ts";
import type { SessionOf } from "../../state/session.ts";
import { groupName } from "../../runtime/running-stage.ts";

export function monitoredArms(
  { arms, config, topic }: Pick<SessionOf<object>, "arms" | "config" | "topic">,
  calls: Pick<SharedCalls, "of">,
  engines?: Pick<Engines, "utilisation">,
): MonitoredArm[] {
  const { prefix } = config.kafka;
  // Beside what reuses answers every arm would be an expensive one.
  const costs = new Map(computing(arms.routed()).map(({ name, cost }) => [name, cost]));
  const cheapest = Math.min(...costs.values());
  const monitored = arms.configured().filter(({ name }) => costs.has(name));
  return monitored.map((arm) => {
    const { name, concurrency } = arm;
    return {
      name,
      ...(isInline(arm)
        ? { topic: topic("requests"), group: groupName(prefix, plan.name), calls: () => calls.of(name) }
        : { topic: topic("work", name), group: groupName(prefix, "generate", name) }),
      engine: () => engines?.utilisation(arm),
      concurrency,
      costlier: costs.get(name)! > cheapest,
    };
  });
}
