// What the page may ask: fixed statements with parameters and limited rows, by a read-only client
// with a time limit.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import { findConversation } from "../../conversation.ts";
import type { Policies } from "../../../state/policies/append.ts";
import { readExamples, readUses } from "./examples.ts";
import { readHealth, type HealthDependencies } from "./health.ts";
import { createLive, type LiveDependencies } from "./live.ts";
import { readOverview } from "./overview.ts";
import { readPolicies, resume, revert } from "./policies.ts";
import type { Dashboard } from "./port.ts";
import { readRequests } from "./requests.ts";
import { readValues } from "./values.ts";

export interface DashboardDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  policies: Policies;
  health: Omit<HealthDependencies, "clickhouse">;
  live: LiveDependencies;
  clock: () => number;
}

const mostNames = 500;

export function createDashboard({ clickhouse, policies, health, live, clock }: DashboardDependencies): Dashboard {
  const watching = createLive(live);
  return {
    requests: (filter) => readRequests(clickhouse, filter),
    request: (id, tenant) => findConversation(clickhouse, id, tenant),
    overview: (filter) => readOverview(clickhouse, filter),
    policies: (name) => readPolicies(clickhouse, name),
    examples: (search) => readExamples(clickhouse, search),
    uses: (id) => readUses(clickhouse, id),
    values: () => readValues(clickhouse),
    health: () => readHealth({ ...health, clickhouse }),
    async names() {
      const [found] = await clickhouse.query<Record<"arms" | "domains" | "tenants" | "keys", string[]>>(
        `SELECT ${[
          ["arm", "arms"],
          ["domain", "domains"],
          ["tenant", "tenants"],
          ["account", "keys"],
        ]
          .map(([column, name]) => `arraySort(groupUniqArrayIf(${mostNames})(${column}, ${column} != '')) AS ${name}`)
          .join(", ")} FROM answer_hours WHERE hour > now() - INTERVAL 1 MONTH`,
      );
      return found ?? { arms: [], domains: [], tenants: [], keys: [] };
    },
    revert: (name, version) => revert(policies, name, version, clock()),
    resume: (name) => resume(policies, name, clock()),
    watch: watching.watch,
    stop: watching.stop,
  };
}
