// The arms as the load monitor reads them: of a queued one its work topic, of an inline one the
// calls that plan processes say they have under way.
import { plan } from "../pipelines/plan.ts";
import type { MonitoredArm } from "./load.ts";
import type { SharedCalls } from "./inline-calls.ts";
import type { SessionOf } from "./session.ts";
import { groupName } from "./stage.ts";

export function monitoredArms(
  { arms, config, topic }: Pick<SessionOf<object>, "arms" | "config" | "topic">,
  calls: Pick<SharedCalls, "of">,
): MonitoredArm[] {
  const { prefix } = config.kafka;
  // What reuses answers computes nothing: beside it every arm would be an expensive one.
  const costs = new Map(arms.routed().flatMap(({ name, cost, reuse }) => (reuse ? [] : [[name, cost] as const])));
  const cheapest = Math.min(...costs.values());
  const computing = arms.configured().filter(({ type }) => type !== "reuse");
  return computing.map(({ name, concurrency, dispatch }) => ({
    name,
    ...(dispatch === "inline"
      ? { topic: topic("requests"), group: groupName(prefix, plan.name), calls: () => calls.of(name) }
      : { topic: topic("work", name), group: groupName(prefix, "generate", name) }),
    concurrency,
    costlier: (costs.get(name) ?? cheapest) > cheapest,
  }));
}
