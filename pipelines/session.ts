// The outside of a process, opened once: Kafka, the codec over the registry, ClickHouse. Where the
// configuration names no server, the embedded stack is attached to or started.
import type { Logger } from "pino";
import { armsOf } from "../config/load.ts";
import type { Config } from "../config/schema.ts";
import { topicOwners } from "../config/tenants.ts";
import { longestTtlMs } from "../config/sections/cache.ts";
import { createClickHouse } from "../connections/clickhouse/client.ts";
import { migrate } from "../connections/clickhouse/migrate.ts";
import { createKafka } from "../connections/kafka/kafka.ts";
import { topicName } from "../connections/kafka/topics.ts";
import { createRegistry } from "../connections/registry/client.ts";
import { createCodec } from "../connections/registry/codec.ts";
import { createTextWork } from "../connections/text/supervised.ts";
import { createMetricsRegistry } from "../runtime/metrics/stage.ts";
import { countUnreadable } from "../runtime/metrics/unreadable.ts";
import { withTimeout } from "../runtime/with-timeout.ts";
import { createArms } from "../state/arms.ts";
import { untilAnswered } from "../state/first-answer.ts";
import type { Session as Opened } from "../state/session.ts";
import { createTenants } from "../state/tenants.ts";
import { holderOf, isDead } from "../stack/holder.ts";
import { serversOf, untilReachable, withoutUser } from "../stack/reachable.ts";
import { resolveConnections, type ResolvedConnections } from "../stack/resolve.ts";
import { openTracing } from "./tracing.ts";

/** The whole of it, for who opened it. */
export interface Session extends Opened {
  connections: ResolvedConnections;
  close(): Promise<void>;
}

export interface SessionOptions {
  log: Logger;
  clientId?: string;
  start?: boolean;
  /** Called with each step of a start, and with each try of servers that are not there. */
  say?: ((step: string) => void) | undefined;
  /** Whether to create ClickHouse's tables; if-there: only while it answers. Default true. */
  tables?: boolean | "if-there";
  /** For a command: a person waits, and is told what the broker refuses. */
  endsOnRefusal?: boolean;
  /** Set for a log replay. */
  logReplay?: Opened["logReplay"];
  /** Prefix of the registry's subjects; kafka.prefix by default. */
  subjects?: string;
}

/** Makes topics, subjects and tables. Rejects after about ten seconds without a server. */
export async function openSession(
  config: Config,
  { log, clientId = "precedent", start = true, say, tables = true, endsOnRefusal, logReplay, subjects }: SessionOptions,
): Promise<Session> {
  const connections = await resolveConnections(config, { start, say: start ? say : undefined });
  const tellWait = say ?? ((line: string) => log.warn(line));
  await untilReachable(serversOf(config, connections, tables === true ? undefined : ["kafka", "registry"]), tellWait);
  const { prefix } = config.kafka;
  const metrics = createMetricsRegistry({ defaults: true });
  const kafka = createKafka({
    ...{ clientId, brokers: connections.kafka.brokers, config: { ...config.kafka, ...connections.kafka } },
    ...{ holders: { mine: holderOf(), isDead }, cacheTtlMs: longestTtlMs(config.cache) },
    ...{ onUnreadable: countUnreadable(metrics), endsOnRefusal, log: log.child({ client: "kafka" }) },
  });
  const codec = createCodec({ prefix: subjects ?? prefix, registry: createRegistry(connections.registry) });
  const clickhouse = createClickHouse(connections.clickhouse);
  const text = createTextWork({ limitMs: config.limits.textMs, log: log.child({ worker: "text" }) });
  // What a log replay asks was traced when it was asked.
  const tracing = logReplay === undefined ? await openTracing(config, { metrics, log }) : undefined;
  const arms = createArms(config.arms);
  const tenants = createTenants(config.tenants);
  const [theBroker, theRegistry, theClickHouse] = serversOf(config, connections).map(blaming);
  const prepare = async (owners: ReturnType<typeof topicOwners>): Promise<void> => {
    await Promise.all([theBroker!(kafka.ensureTopics(owners)), theRegistry!(codec.register(owners))]);
  };
  const prepareArms = (names: readonly string[]): Promise<void> =>
    prepare(topicOwners({ tenants: tenants.configured() }, names));
  const close = async (): Promise<void> => {
    await Promise.allSettled([kafka.close(), clickhouse.close(), text.close(), tracing?.close()]);
  };
  try {
    const makeTables = (): Promise<void> =>
      untilAnswered(() => theClickHouse!(prepareTables(connections, config)), tellWait);
    await Promise.all([
      untilAnswered(() => prepareArms(armsOf(config)), tellWait),
      tables === "if-there" ? unlessAway(makeTables(), { tellWait, log }) : tables ? makeTables() : undefined,
    ]);
    if (start) say?.(`topics${tables === true ? ", schemas and tables" : " and schemas"} are there`);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    ...{ config, log, metrics, tracing, arms, tenants, logReplay },
    ...{ kafka, codec, clickhouse, text, connections, prepareArms, close },
    prepareTenants(next) {
      const names = arms.configured().map(({ name }) => name);
      return prepare(topicOwners({ tenants: next }, names));
    },
    topic: (name, owner) => topicName(prefix, name, owner),
  };
}

/** Adds the server and its configuration key to an error of a server that answers wrongly. */
const blaming =
  ({ name, key, addresses }: ReturnType<typeof serversOf>[number]) =>
  <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      if (error instanceof Error && key !== undefined && !error.message.includes(key))
        error.message += ` (${name} at ${addresses.map(withoutUser).join(", ")}, ${key})`;
      throw error;
    });

interface Telling {
  tellWait: (line: string) => void;
  log: Logger;
}

/** How long stages that work without ClickHouse wait for it: the time of a restart. */
const awayMs = 10_000;

/** Rejects if ClickHouse refuses us. If it is away, its tables are created later or by others. */
async function unlessAway(made: Promise<void>, { tellWait, log }: Telling): Promise<void> {
  const isMade = made.then(() => true);
  if ((await withTimeout(awayMs, isMade)) === true) return;
  tellWait("ClickHouse is away: this process starts without it; records wait in Kafka");
  made.catch((error: unknown) =>
    log.warn({ err: error }, "ClickHouse's tables were not created: the next record process creates them"),
  );
}

/** Through a client without a default database: ours may not exist yet. */
async function prepareTables(
  { clickhouse: { database: _ours, ...server } }: ResolvedConnections,
  config: Config,
): Promise<void> {
  const client = createClickHouse(server);
  try {
    const { database, cluster, ttlDays } = config.clickhouse;
    await migrate(client, { database, ttlDays, ...(cluster === undefined ? {} : { cluster }) });
  } finally {
    await client.close();
  }
}
