// What the page may ask: fixed statements with parameters and limited rows, by a read-only client
// with a time limit.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import type { Prices } from "../../../config/price-bands.ts";
import { findConversation } from "../../find-conversation.ts";
import type { Policies } from "../../../state/policies/append.ts";
import type { StoredBatch } from "../../batches/table.ts";
import { readBatches } from "./batches.ts";
import { readExample, readExamples } from "./examples.ts";
import { readExperiments } from "./experiments.ts";
import { readHealth, type HealthDependencies } from "./health.ts";
import { createPageKeys, type KeysDependencies } from "./keys.ts";
import { createLetters, type LettersDependencies } from "./letters.ts";
import { createLive, type LiveDependencies } from "./live.ts";
import { readNames } from "./names.ts";
import { readOverview } from "./overview.ts";
import { readPolicies, resume, revert } from "./policies.ts";
import { readOwners } from "./owners.ts";
import { readChange, readPolicyRewards } from "./policy-change.ts";
import type { Dashboard } from "./port.ts";
import type { WholeRequest } from "./types/asking.ts";
import { readRequests } from "./requests.ts";
import { readSessions } from "./sessions.ts";
import { readValues } from "./values.ts";

export interface DashboardDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  policies: Policies;
  health: Omit<HealthDependencies, "clickhouse">;
  live: LiveDependencies;
  /** Prices of an arm for a prompt of so many tokens, at a time; null: it is not configured. */
  prices: (arm: string, at: number, promptTokens: number) => Prices | null;
  exampleActs: Pick<Dashboard, "keepAnswer" | "editExample" | "removeExample">;
  askAgain: Dashboard["askAgain"];
  armsFor: (request: WholeRequest["request"]) => string[];
  keys: Omit<KeysDependencies, "clickhouse" | "clock">;
  letters: Omit<LettersDependencies, "clickhouse" | "clock">;
  /** Those of all tenants. */
  batches: () => readonly StoredBatch[];
  clock: () => number;
}

export function createDashboard({
  clickhouse,
  policies,
  health,
  live,
  prices,
  exampleActs,
  askAgain,
  armsFor,
  keys,
  letters,
  batches,
  clock,
}: DashboardDependencies): Dashboard {
  const watching = createLive(live);
  return {
    requests: (filter) => readRequests(clickhouse, filter),
    async request(id, tenant) {
      const found = await findConversation(clickhouse, id, tenant, { seesShared: true });
      const { arm = null, promptTokens = 0 } = found?.response ?? {};
      if (found === null) return null;
      const { request } = found;
      return {
        ...{ ...found, askable: armsFor(request) },
        prices: arm === null ? null : prices(arm, request.createdAt, promptTokens),
      };
    },
    overview: (filter) => readOverview(clickhouse, filter),
    policies: (name) => readPolicies(clickhouse, name),
    examples: (filter) => readExamples(clickhouse, filter),
    example: (id) => readExample(clickhouse, id),
    values: () => readValues(clickhouse),
    experiments: () => readExperiments(clickhouse),
    health: () => readHealth({ ...health, clickhouse }),
    names: () => readNames(clickhouse),
    ...{ ...exampleActs, askAgain },
    revert: (name, version) => revert(policies, name, version, clock()),
    resume: (name) => resume(policies, name, clock()),
    owners: (filter) => readOwners(clickhouse, filter),
    policyChange: (version) => readChange(clickhouse, version),
    policyRewards: () => readPolicyRewards(clickhouse),
    keys: createPageKeys({ ...keys, clickhouse, clock }),
    letters: createLetters({ ...letters, clickhouse, clock }),
    sessions: (filter) => readSessions(clickhouse, filter),
    batches: (tenant) => readBatches(clickhouse, batches(), tenant),
    watch: watching.watch,
    stop: watching.stop,
  };
}
