// The policies of plan as one table of the topic: the router's, and where answers are reused.
import { routerVersionsOf } from "../../config/sections/experiments.ts";
import { followTable, type TableChange } from "../../runtime/table.ts";
import type { Policy } from "../../schemas/types.ts";
import type { SessionOf } from "../session.ts";
import { createPolicyMetrics } from "./metrics.ts";
import { createReuseTable, REUSE } from "./reuse.ts";
import { pinName } from "./pin.ts";
import { ROUTER } from "./router.ts";
import { createPolicyTable } from "./router-table.ts";

export type OpenedPolicies = Awaited<ReturnType<typeof openPolicies>>;

export interface PoliciesOptions {
  /** Takes the policies that are held elsewhere, after those of this table. */
  apply: (changes: readonly TableChange<Policy>[]) => void;
  /** Called after every change with the domains in which reuse is on, and off. */
  onReuse: (domains: { on: number; off: number }) => void;
  clock: () => number;
  log: SessionOf<object>["log"];
}

/** Resolves when everything that was on the topic is in force. */
export async function openPolicies(
  session: SessionOf<{ tables: ["policies"] }>,
  { apply, onReuse, clock, log }: PoliciesOptions,
) {
  const { config, kafka, codec } = session;
  const metrics = createPolicyMetrics(session.metrics);
  const versions = routerVersionsOf(config.experiments);
  const router = createPolicyTable(config.routing.statistics, versions);
  const reuse = createReuseTable(clock, (problem) => log.error({ policy: REUSE }, problem));
  const tables = [router, reuse];
  const showPins = (): void => {
    for (const version of versions) {
      const { policy, problem } = router.version(version);
      metrics.version(pinName(version), policy.version);
      metrics.refused(pinName(version), problem !== null);
    }
  };

  const follower = followTable({
    ...{ kafka, codec, log, topic: session.topic("policies"), record: "policies" as const },
    apply(changes) {
      for (const { key, value } of changes) {
        for (const table of tables)
          if (value === null) table.remove(key);
          else table.apply(value);
      }
      apply(changes);
      onReuse(reuse.figures());
      const { policy, problem } = router.current();
      metrics.version(ROUTER, policy.version);
      metrics.refused(ROUTER, problem !== null);
      showPins();
    },
  });
  await follower.caughtUp;
  showPins();
  for (const version of versions) {
    const { problem } = router.version(version);
    if (problem !== null) log.error({ policy: pinName(version), problem }, "experiments with this version wait for it");
  }
  return { router, reuse, stop: (): Promise<void> => follower.stop() };
}
