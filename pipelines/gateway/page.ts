// Opens what the page uses: a read-only ClickHouse with limits, the tail of decisions and answers,
// and operators' acts on policies, examples, keys and dead letters.
import { createClickHouse } from "../../connections/clickhouse/client.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import { findConversation } from "../../gateway/find-conversation.ts";
import type { Dashboard } from "../../gateway/page/data/dashboard.ts";
import { createPageKeys } from "../../gateway/page/data/keys.ts";
import { createLetters } from "../../gateway/page/data/letters.ts";
import { createLive } from "../../gateway/page/data/live.ts";
import { pricesAt } from "../../config/price-bands.ts";
import { priceList } from "../../config/prices.ts";
import type { BatchTable } from "../../gateway/batches/table.ts";
import { createAskAgain } from "./ask-again.ts";
import { createExampleActs } from "./page-examples.ts";
import type { gateway } from "./pipeline.ts";
import { type Topic, isTenantTopic, ownersOf, type TopicName } from "../../schemas/records.ts";
import type { ArmBreaker } from "../../schemas/types.ts";
import { createRowTable } from "../../state/process-rows.ts";
import { readTable } from "../../runtime/table.ts";
import type { SessionOf } from "../../state/session.ts";
import { policiesOf } from "../policies.ts";
import type { Session } from "../session.ts";
import type { StageGroup } from "../../gateway/page/data/health.ts";
import { isInline } from "../../config/sections/arms.ts";
import { groupName, stageName } from "../../runtime/running-stage.ts";
import { stagesOf, topology } from "../topology.ts";

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
): Dashboard & { stop(): Promise<void> } {
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
  const live = createLive({ kafka, codec, topic: (name): Topic<"decisions" | "responses"> => topic(name), log });
  const clock = Date.now;
  return {
    clickhouse,
    policies: policiesOf(session),
    health: { kafka, stages: () => stageGroups(session), arms: armRows, loadByArm },
    prices(arm, at, promptTokens) {
      const known = arms.configured().find(({ name }) => name === arm);
      return known === undefined ? null : pricesAt(priceList(known), at, promptTokens);
    },
    exampleActs: createExampleActs({ session, clickhouse, embedder, find }),
    ...createAskAgain({ session, clickhouse, find }),
    keys: createPageKeys({ session, clickhouse, clock, arms: () => arms.configured().map(({ name }) => name) }),
    letters: createLetters({ session, clickhouse, clock, recordOf: (full) => recordOf(session, full) }),
    ...{ batches: () => batches.all(), live },
    async stop() {
      await live.stop();
      await clickhouse.close();
    },
  };
}

type GatewaySession = SessionOf<typeof gateway>;

/**
 * Every consumer group with its topics; a queued arm has one of its own. No topics: the group only
 * says which processes there are. Learn and curate read ClickHouse, gateways reply partitions.
 */
function stageGroups({ config, arms, tenants, topic }: GatewaySession): StageGroup[] {
  const { prefix } = config.kafka;
  const names = [...tenants.names()];
  return stagesOf(topology, { arms: arms.configured().map((arm) => arm.name), tenants: names }).flatMap(
    ({ name, sources }) => {
      const topics = topicsOf(sources);
      const of = (arm?: string): StageGroup => ({
        stage: stageName(name, arm),
        group: groupName(prefix, name, arm),
        topics: topics.flatMap((one) => (isTenantTopic(one) ? names : [arm]).map((owner) => topic(one, owner))),
      });
      if (name === "example-replay") return [];
      if (name === "gateway") return [{ ...of(), topics: [] }];
      if (!topics.includes("work")) return [of()];
      return arms.configured().flatMap((arm) => (isInline(arm) ? [] : [of(arm.name)]));
    },
  );
}

/** full: name of a topic on the brokers. undefined: no stage reads it. */
function recordOf({ arms, tenants, topic }: GatewaySession, full: string): TopicName | undefined {
  const names = [...tenants.names()];
  const owners = { arms: arms.configured().map(({ name }) => name), tenants: names, streaming: names };
  return topology
    .flatMap(({ sources }) => topicsOf(sources))
    .find((name) => ownersOf(name, owners).some((owner) => topic(name, owner) === full));
}

const topicsOf = (sources: readonly (TopicName | "ClickHouse")[]): TopicName[] =>
  sources.filter((source): source is TopicName => source !== "ClickHouse");
