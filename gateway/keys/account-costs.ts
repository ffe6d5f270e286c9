// What accounts of the gateway's keys have spent, as record has written it into ClickHouse.
import type { DayCost } from "../../algorithms/queueing/spend-limit.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { slicesOf } from "../../algorithms/lists/lists.ts";

/** Cost of the answers of a day that stand in one partition of the responses. */
export interface AccountCost extends DayCost {
  account: string;
  partition: number;
  /** The highest of them. */
  offset: number;
}

/** Parameters go into a URL. */
const atOnce = 500;

const SELECT = `
  SELECT account, toUInt16(day) AS since_epoch, kafka_partition AS partition, max(kafka_offset) AS offset, sum(cost) AS cost
  FROM account_costs FINAL
  WHERE account IN {accounts:Array(String)} AND day >= toDate({since:UInt16})
  GROUP BY account, day, kafka_partition`;

/** From the day `since` on. Rejects as the ClickHouse port does. */
export async function readAccountCosts(
  clickhouse: Pick<ClickHouse, "query">,
  accounts: readonly string[],
  since: number,
): Promise<AccountCost[]> {
  const found: AccountCost[] = [];
  for (const some of slicesOf(accounts, atOnce)) {
    const rows = await clickhouse.query<Record<keyof AccountCost | "since_epoch", string>>(SELECT, {
      ...{ accounts: some, since },
    });
    for (const { account, since_epoch, partition, offset, cost } of rows)
      found.push({
        ...{ account, day: Number(since_epoch), partition: Number(partition) },
        ...{ offset: Number(offset), cost: Number(cost) },
      });
  }
  return found;
}
