// What evict needs: the bytes that examples may have, as they are recorded, and the arms' costs.
import type { Logger } from "pino";
import { fixedSplit } from "../../config/sections/memory.ts";
import type { Solver } from "../../connections/solver/port.ts";
import { BUDGET, createBudgetTable } from "../../state/policies/budget.ts";
import { policyHistory } from "../../state/policies/history.ts";
import type { SessionOf } from "../../state/session.ts";
import { createEvict } from "./evict.ts";

type EvictSession = SessionOf<{ sources: ["ClickHouse"] }>;

export interface EvictOptions {
  solver: Solver;
  /** Milliseconds since the epoch. */
  clock: () => number;
  log: Logger;
}

export function openEvict(session: EvictSession, { solver, clock, log }: EvictOptions) {
  const { evict } = session.config.curate;
  return {
    evict: createEvict({
      clickhouse: session.clickhouse,
      solver,
      rules: {
        budgetBytes: async () => (await splitOf(session)).examples,
        graceMs: evict.graceHours * 3_600_000,
        offloadQuality: evict.offloadQuality,
      },
      costs: () => new Map(session.arms.routed().map(({ name, cost }) => [name, cost])),
      clock,
      log,
    }),
    evictEveryMs: evict.everyMs,
  };
}

/** As it is recorded: the examples are weighed by what is recorded, too. */
async function splitOf({ config, clickhouse }: Pick<EvictSession, "config" | "clickhouse">) {
  const fixed = fixedSplit(config);
  if (config.memory.budget === "fixed") return fixed;
  const table = createBudgetTable(fixed);
  for (const version of await policyHistory(clickhouse, BUDGET, { limit: 1 })) table.apply(version);
  return table.current();
}
