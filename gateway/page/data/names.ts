// Names for filters, from the last month's answers.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";

export interface Names {
  arms: string[];
  domains: string[];
  tenants: string[];
  /** Ids of gateway keys. */
  keys: string[];
}

const mostNames = 500;
const columns = [
  ["arm", "arms"],
  ["domain", "domains"],
  ["tenant", "tenants"],
  ["account", "keys"],
] as const;

export async function readNames(clickhouse: Pick<ClickHouse, "query">): Promise<Names> {
  const lists = columns.map(
    ([column, name]) => `arraySort(groupUniqArrayIf(${mostNames})(${column}, ${column} != '')) AS ${name}`,
  );
  const [found] = await clickhouse.query<Names>(
    `SELECT ${lists.join(", ")} FROM answer_hours WHERE hour > now() - INTERVAL 1 MONTH`,
  );
  return found ?? { arms: [], domains: [], tenants: [], keys: [] };
}
