// Opens what the page uses: a read-only ClickHouse with limits, the tail of decisions and answers,
// and operators' acts on policies, examples, keys and dead letters.
import { createClickHouse } from "../../connections/clickhouse/client.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import { findConversation } from "../../gateway/find-conversation.ts";
import { createDashboard } from "../../gateway/page/data/dashboard.ts";
import { pricesAt } from "../../config/price-bands.ts";
import { priceList } from "../../config/prices.ts";
import type { Dashboard } from "../../gateway/page/data/port.ts";
import type { BatchTable } from "../../gateway/batches/table.ts";
import { createAskAgain } from "./ask-again.ts";
import { createExampleActs } from "./page-examples.ts";
import { recordOf, stageGroups } from "./page-stages.ts";
import type { gateway } from "./pipeline.ts";
import type { Topic } from "../../schemas/records.ts";
import type { ArmBreaker } from "../../schemas/types.ts";
import { createRowTable } from "../../state/process-rows.ts";
import { readTable } from "../../runtime/table.ts";
import type { SessionOf } from "../../state/session.ts";
import { policiesOf } from "../policies.ts";
import type { Session } from "../session.ts";

const limits = { seconds: 10, rows: 50_000 };
const connections = 4;

export interface DashboardParts {
  embedder: () => Promise<Embedder>;
  batches: BatchTable;
  /** Utilisation; undefined: not read yet. */
  loadByArm: () => ReadonlyMap<string, number> | undefined;
}

export function openDashboard(
  session: SessionOf<typeof gateway> & Pick<Session, "connections">,
  { embedder, batches, loadByArm }: DashboardParts,
): Dashboard {
  const { kafka, codec, topic, log, arms } = session;
  const clickhouse = createClickHouse({
    ...session.connections.clickhouse,
    ...{ readOnly: limits, requestTimeoutMs: 2 * limits.seconds * 1_000, maxConnections: connections },
  });
  const find = (id: string, tenant: string) => findConversation(clickhouse, id, tenant, { seesShared: true });
  const armRows = async (): Promise<ArmBreaker[]> => {
    const table = createRowTable<ArmBreaker>(Date.now);
    const rows = await readTable({ kafka, codec, topic: topic("breakers"), record: "breakers", log });
    for (const [key, value] of rows) table.apply(key, value);
    return arms.configured().flatMap(({ name }) => table.others(name, ""));
  };
  const dashboard = createDashboard({
    clickhouse,
    policies: policiesOf(session),
    health: { kafka, stages: () => stageGroups(session), arms: armRows, loadByArm },
    prices(arm, at, promptTokens) {
      const known = arms.configured().find(({ name }) => name === arm);
      return known === undefined ? null : pricesAt(priceList(known), at, promptTokens);
    },
    exampleActs: createExampleActs({ session, clickhouse, embedder, find }),
    ...createAskAgain({ session, clickhouse, find }),
    keys: { session, arms: () => arms.configured().map(({ name }) => name) },
    letters: { session, recordOf: (full) => recordOf(session, full) },
    batches: () => batches.all(),
    live: { kafka, codec, topic: (name): Topic<"decisions" | "responses"> => topic(name), log },
    clock: Date.now,
  });
  return {
    ...dashboard,
    async stop() {
      await dashboard.stop();
      await clickhouse.close();
    },
  };
}
