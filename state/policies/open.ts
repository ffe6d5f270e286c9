// The policies that plan goes by, as one table of the topic `policies`: the router's, and where
// answers are reused.
import { followTable, type TableChange } from "../../runtime/table.ts";
import type { Policy } from "../../schemas/types.ts";
import type { SessionOf } from "../session.ts";
import { createPolicyMetrics } from "./metrics.ts";
import { createReuseTable, REUSE, type ReuseTable } from "./reuse.ts";
import { ROUTER } from "./router.ts";
import { createPolicyTable, type PolicyTable } from "./router-table.ts";

export interface OpenedPolicies {
  router: PolicyTable;
  reuse: ReuseTable;
  stop(): Promise<void>;
}

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
): Promise<OpenedPolicies> {
  const { config, kafka, codec } = session;
  const metrics = createPolicyMetrics(session.metrics);
  const router = createPolicyTable(config.routing.statistics);
  const reuse = createReuseTable(clock, (problem) => log.error({ policy: REUSE }, problem));
  const tables = [router, reuse];

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
    },
  });
  await follower.caughtUp;
  return { router, reuse, stop: () => follower.stop() };
}
