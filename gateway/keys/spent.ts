// Spending of keys today and this month, UTC, as recorded: about a second behind.
import { costIn, periods, windowAt, type DayCost, type Period } from "../../algorithms/queueing/spend-limit.ts";
import { ClickHouseUnavailable, type ClickHouse } from "../../connections/clickhouse/port.ts";
import { accountOf } from "./key.ts";
import type { ApiKey } from "../../schemas/types.ts";
import { readAccountCosts } from "./account-costs.ts";

/** Rotated keys inherit the spending of those before them. */
export type SpentBy = (key: Pick<ApiKey, "id" | "account">) => Record<Period, number>;

/** null while ClickHouse is away: keys are still listed. */
export async function readSpent(
  clickhouse: Pick<ClickHouse, "query">,
  keys: readonly ApiKey[],
  now: number,
): Promise<SpentBy | null> {
  const accounts = [...new Set(keys.map(accountOf))];
  try {
    const costs = await readAccountCosts(clickhouse, accounts, windowAt("month", now).first);
    const byAccount = new Map(accounts.map((account) => [account, [] as DayCost[]]));
    for (const cost of costs) byAccount.get(cost.account)?.push(cost);
    return (key) => {
      const its = byAccount.get(accountOf(key)) ?? [];
      const [day = 0, month = 0] = periods.map((period) => costIn(windowAt(period, now), its));
      return { day, month };
    };
  } catch (error) {
    if (error instanceof ClickHouseUnavailable) return null;
    throw error;
  }
}
