// What evict needs: its rules from the configuration, and the arms' costs.
import type { Logger } from "pino";
import { slowerMs } from "../../runtime/repeat.ts";
import type { SessionOf } from "../../state/session.ts";
import { createEvict } from "./evict.ts";

type EvictSession = SessionOf<{ sources: ["ClickHouse"] }>;

export interface EvictOptions {
  clock: () => number;
  log: Logger;
}

export function openEvict(session: EvictSession, { clock, log }: EvictOptions) {
  const { everyMs, evict } = session.config.curate;
  return {
    evict: createEvict({
      clickhouse: session.clickhouse,
      rules: {
        budgetBytes: evict.budgetBytes,
        graceMs: evict.graceHours * 3_600_000,
      },
      costs: () => new Map(session.arms.routed().map(({ name, cost }) => [name, cost])),
      clock,
      log,
    }),
    evictEveryMs: slowerMs(everyMs),
  };
}
