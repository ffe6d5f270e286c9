// What commands that talk to Kafka share: the connections that the configuration names (or the embedded stack's), topics
// and schemas in place, everything closed together.
import type { Logger } from "pino";
import type { Config } from "../config/schema.ts";
import { armsOf } from "../config/load.ts";
import { createClickHouse } from "../connections/clickhouse/client.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import { createKafka } from "../connections/kafka/kafka.ts";
import type { Kafka } from "../connections/kafka/port.ts";
import { createRegistry } from "../connections/registry/client.ts";
import { createCodec } from "../connections/registry/codec.ts";
import type { Codec } from "../connections/registry/port.ts";
import { resolveConnections, type ResolvedConnections } from "../stack/resolve.ts";

export interface Session {
  config: Config;
  connections: ResolvedConnections;
  kafka: Kafka;
  /** Registered: encode() may be called. */
  codec: Codec;
  clickhouse: ClickHouse;
  log: Logger;
  close(): Promise<void>;
}

export interface SessionOptions {
  log: Logger;
  /** Names this process to the broker. */
  clientId?: string;
  /** Whether to start an embedded stack that does not run. Default true. */
  start?: boolean;
}

/** Rejects when something can't be reached, when no stack runs and none is to be started, or when the registry refuses a schema. */
export async function openSession(
  config: Config,
  { log, clientId = "precedent", start = true }: SessionOptions,
): Promise<Session> {
  const connections = await resolveConnections(config, { start });
  const { brokers, ssl, sasl } = connections.kafka;
  const kafka = createKafka({
    brokers,
    clientId,
    config: { ...config.kafka, ssl, ...(sasl === undefined ? {} : { sasl }) },
    log,
  });
  const codec = createCodec({ prefix: config.kafka.prefix, registry: createRegistry(connections.registry) });
  const clickhouse = createClickHouse(connections.clickhouse);
  const close = async (): Promise<void> => {
    await Promise.allSettled([kafka.close(), clickhouse.close()]);
  };
  try {
    const arms = armsOf(config);
    await Promise.all([kafka.ensureTopics(arms), codec.register(arms)]);
  } catch (error) {
    await close();
    throw error;
  }
  return { config, connections, kafka, codec, clickhouse, log, close };
}
