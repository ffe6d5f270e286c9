// The arms as the load monitor reads them: of a queued one its work topic, of an inline one the
// calls that plan processes say they have under way.
import { plan } from "../pipelines/plan.ts";
import { computing } from "../operators/route/arms.ts";
import type { MonitoredArm } from "./load.ts";
import type { SharedCalls } from "./inline-calls.ts";
import type { SessionOf } from "./session.ts";
import { groupName } from "./stage.ts";

export function monitoredArms(
  { arms, config, topic }: Pick<SessionOf<object>, "arms" | "config" | "topic">,
  calls: Pick<SharedCalls, "of">,
): MonitoredArm[] {
  const { prefix } = config.kafka;
  // Beside what reuses answers every arm would be an expensive one.
  const costs = new Map(computing(arms.routed()).map(({ name, cost }) => [name, cost]));
  const cheapest = Math.min(...costs.values());
  const monitored = arms.configured().filter(({ name }) => costs.has(name));
  return monitored.map(({ name, concurrency, dispatch }) => ({
    name,
    ...(dispatch === "inline"
      ? { topic: topic("requests"), group: groupName(prefix, plan.name), calls: () => calls.of(name) }
      : { topic: topic("work", name), group: groupName(prefix, "generate", name) }),
    concurrency,
    costlier: costs.get(name)! > cheapest,
  }));
}
