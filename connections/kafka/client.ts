// One kafkajs client for a process: fast retries for transactions, TCP_NODELAY, its logs in ours.
import net from "node:net";
import tls from "node:tls";
import type { Kafka as KafkaClient, RetryOptions, KafkaConfig } from "kafkajs";
import type { Logger } from "pino";
import type { Config } from "../../config/schema.ts";
import { tlsOptions, secretOf } from "../security/files.ts";
import { Kafka, logLevel } from "./kafkajs.ts";
import { createTokenSource } from "../security/oauth.ts";

/** The default sleeps 300 ms at CONCURRENT_TRANSACTIONS: 3 transactions a second. */
const retry: RetryOptions = { initialRetryTime: 2, maxRetryTime: 100, factor: 0.2, multiplier: 1.5, retries: 60 };

export interface KafkaClientOptions {
  brokers: readonly string[];
  clientId: string;
  config: Pick<Config["kafka"], "ssl" | "tls" | "sasl">;
  log: Logger;
}

/** How soon added partitions are read and written to; kafkajs' default is five minutes. */
const metadataMaxAge = 10_000;

export function createKafkaClient({ brokers, clientId, config, log }: KafkaClientOptions): KafkaClient {
  const client = new Kafka({
    clientId,
    brokers: [...brokers],
    retry,
    ssl: config.ssl || config.tls !== undefined,
    ...(config.sasl ? { sasl: saslOf(config.sasl) } : {}),
    // kafkajs' 10 s would authenticate all the time where a session is shorter, and brokers refuse
    // to do so twice within a second.
    reauthenticationThreshold: 3_000,
    connectionTimeout: 5_000,
    requestTimeout: 30_000,
    logLevel: logLevel.WARN,
    // kafkajs calls many passing states errors; what matters reaches us as exceptions and events.
    logCreator: () => (entry) => {
      const { message, timestamp: _timestamp, ...rest } = entry.log;
      log.debug({ kafkajs: entry.namespace, ...rest }, message);
    },
    socketFactory: ({ host, port, ssl, onConnect }) => {
      const socket = ssl
        ? tls.connect(
            { host, port, ...(net.isIP(host) === 0 ? { servername: host } : {}), ...tlsOptions(config.tls) },
            onConnect,
          )
        : net.connect({ host, port }, onConnect);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, 60_000);
      return socket;
    },
  });
  const { consumer, producer } = client;
  client.consumer = (options) => consumer.call(client, { metadataMaxAge, ...options });
  client.producer = (options) => producer.call(client, { metadataMaxAge, ...options });
  return client;
}

type Sasl = NonNullable<Config["kafka"]["sasl"]>;

/** Passwords in files and tokens are read again at every authentication. */
function saslOf(options: Sasl): NonNullable<KafkaConfig["sasl"]> {
  const { mechanism, username = "", password, passwordFile, ...tokens } = options;
  if (mechanism === "oauthbearer") {
    const token = createTokenSource(tokens);
    return { mechanism, oauthBearerProvider: async () => ({ value: await token() }) };
  }
  return {
    mechanism,
    username,
    get password() {
      return secretOf(password, passwordFile) ?? "";
    },
  } as NonNullable<KafkaConfig["sasl"]>;
}
