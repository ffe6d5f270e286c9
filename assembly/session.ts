// The outside of a process, opened once: Kafka, the codec over the registry, ClickHouse. Where the configuration names no
// server, the embedded stack is attached to or started.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { backoff } from "../algorithms/backoff.ts";
import { createArms, type ArmsInForce } from "./arms.ts";
import { armsOf } from "../config/load.ts";
import type { Config } from "../config/schema.ts";
import { createClickHouse } from "../connections/clickhouse/client.ts";
import { migrate } from "../connections/clickhouse/migrate.ts";
import { ClickHouseUnavailable, type ClickHouse } from "../connections/clickhouse/port.ts";
import { classifyKafkaError } from "../connections/kafka/errors.ts";
import { createKafka } from "../connections/kafka/kafka.ts";
import type { Kafka } from "../connections/kafka/port.ts";
import { topicName } from "../connections/kafka/topics.ts";
import { createRegistry } from "../connections/registry/client.ts";
import { createCodec } from "../connections/registry/codec.ts";
import { RegistryUnavailable, type Codec, type TenantOf } from "../connections/registry/port.ts";
import type { TextWork } from "../connections/text/port.ts";
import { createTextWork } from "../connections/text/supervised.ts";
import { createMetricsRegistry, type MetricsRegistry } from "../metrics/stage.ts";
import type { ClickHouseUse, Consumed, Held, Reached, Sent } from "../runtime/declaration.ts";
import type { Topic, TopicName } from "../schemas/records.ts";
import { holderOf, isDead } from "../stack/holder.ts";
import { resolveConnections, type ResolvedConnections } from "../stack/resolve.ts";

export interface Session {
  config: Config;
  /** config.arms at first; may be replaced while the process runs. */
  arms: ArmsInForce;
  log: Logger;
  /** Prometheus registry of this process. */
  metrics: MetricsRegistry;
  kafka: Kafka;
  codec: Codec & TenantOf;
  /** Bound to the configured database. */
  clickhouse: ClickHouse;
  /** One for all stages of the process; starts its worker when it is first needed. */
  text: TextWork;
  connections: ResolvedConnections;
  /** Topics and subjects of arms that were not configured at the start. */
  prepareArms(names: readonly string[]): Promise<void>;
  /** Full name of a topic; work with its arm. */
  topic<N extends TopicName | "locks">(name: N, arm?: string): Topic<N>;
  close(): Promise<void>;
}

/**
 * A session as a stage is handed it, by its declaration: it consumes, holds and writes what it declares; anything else does not compile.
 * Every session will do for it, and one of more for one of less.
 */
export type SessionOf<D extends Reached> = Omit<Session, "kafka" | "clickhouse"> & {
  kafka: Kafka<Consumed<D>, Held<D>, Sent<D>>;
  clickhouse: Pick<ClickHouse, ClickHouseUse<D>>;
};

export interface SessionOptions {
  log: Logger;
  clientId?: string;
  /** Whether a stack that does not run may be started; true by default. */
  start?: boolean;
}

/** Opens the connections and sees to it that topics, subjects and tables exist. Rejects when a server can't be reached for about ten seconds. */
export async function openSession(
  config: Config,
  { log, clientId = "precedent", start = true }: SessionOptions,
): Promise<Session> {
  const connections = await resolveConnections(config, { start });
  const { prefix } = config.kafka;
  const kafka = createKafka({
    brokers: connections.kafka.brokers,
    clientId,
    config: { ...config.kafka, ssl: connections.kafka.ssl, sasl: connections.kafka.sasl },
    holders: { mine: holderOf(), isDead },
    log: log.child({ client: "kafka" }),
  });
  const codec = createCodec({ prefix, registry: createRegistry(connections.registry) });
  const clickhouse = createClickHouse(connections.clickhouse);
  const text = createTextWork({ limitMs: config.limits.textMs, log: log.child({ worker: "text" }) });
  const prepareArms = async (names: readonly string[]): Promise<void> => {
    await Promise.all([kafka.ensureTopics(names), codec.register(names)]);
  };
  const close = async (): Promise<void> => {
    await Promise.allSettled([kafka.close(), clickhouse.close(), text.close()]);
  };
  try {
    await patiently(() => Promise.all([prepareArms(armsOf(config)), prepareTables(connections, config)]), log);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    config,
    arms: createArms(config.arms),
    prepareArms,
    log,
    metrics: createMetricsRegistry({ defaults: true }),
    kafka,
    codec,
    clickhouse,
    text,
    connections,
    topic: (name, arm) => topicName(prefix, name, arm),
    close,
  };
}

/** Before the longest wait it is given up, after five attempts. */
const answerMs = { first: 500, limit: 8_000 };

/** A server that is just being started again, or busy, is no reason to end a stage; one that is not there is told after five attempts. */
async function patiently(prepare: () => Promise<unknown>, log: Logger): Promise<void> {
  const waits = backoff(answerMs);
  for (;;) {
    try {
      await prepare();
      return;
    } catch (error) {
      const passing =
        error instanceof RegistryUnavailable ||
        error instanceof ClickHouseUnavailable ||
        classifyKafkaError(error) === "retriable";
      const pause = waits.next();
      if (!passing || pause >= answerMs.limit) throw error;
      log.warn({ err: error, retryInMs: pause }, "a server does not answer yet");
      await sleep(pause);
    }
  }
}

/** Through a client without a default database: ours may not exist yet. */
async function prepareTables(
  { clickhouse: { url, username, password } }: ResolvedConnections,
  config: Config,
): Promise<void> {
  const client = createClickHouse({ url, username, password });
  try {
    const { database, cluster, ttlDays } = config.clickhouse;
    await migrate(client, { database, ttlDays, ...(cluster === undefined ? {} : { cluster }) });
  } finally {
    await client.close();
  }
}
