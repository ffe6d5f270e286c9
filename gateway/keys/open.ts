// The API keys as a table of the topic `keys`: who may ask, and how much.
import { followTable } from "../../runtime/table.ts";
import type { SessionOf } from "../../state/session.ts";
import type { LimitsDependencies } from "./limits.ts";
import { createSpendLimits, type SpendLimitsDependencies } from "./spend-limits.ts";
import type { Spending } from "./spending.ts";
import { createKeyTable } from "./table.ts";

export interface KeysOptions
  extends Pick<SpendLimitsDependencies, "mostCost" | "mostMs">, Pick<LimitsDependencies, "mostTokens"> {
  spending: Spending;
  gateways: () => number;
  log: SessionOf<object>["log"];
}

export function openKeys(
  { kafka, codec, topic }: SessionOf<{ tables: ["keys"] }>,
  { spending, mostCost, mostTokens, mostMs, gateways, log }: KeysOptions,
) {
  const now = Date.now;
  const holdSpending = createSpendLimits({ spending, now, mostCost, mostMs });
  const table = createKeyTable({ gateways, holdSpending, mostTokens, clock: () => performance.now(), now });
  let open = false;
  const reader = followTable({
    ...{ kafka, codec, log, topic: topic("keys"), record: "keys" as const },
    apply(changes) {
      const before = table.size();
      for (const { key, value } of changes) {
        const problem = value === null ? table.remove(key) : table.apply(key, value);
        if (typeof problem === "string") log.error({ key, problem }, "an API key is unusable");
      }
      if (open && before === 0 && table.size() > 0) log.warn("there are API keys now: every request needs one");
    },
  });
  return {
    table,
    caughtUp: reader.caughtUp,
    /** Requests are taken from now on; after that the first key is worth a warning. */
    serving(baseUrl: string): void {
      open = true;
      const keys = table.size();
      if (keys > 0) log.info({ baseUrl, keys }, "the gateway serves clients with an API key");
      else
        log.info(
          { baseUrl, tenant: "default" },
          "the gateway serves clients on this machine, for there are no API keys",
        );
    },
    stop: (): Promise<void> => reader.stop(),
  };
}
