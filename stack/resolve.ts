// Where Kafka, the registry and ClickHouse are: as configured, else the embedded stack's.
import type { Config } from "../config/schema.ts";
import { attachStack, type StackInfo } from "./attach.ts";

export interface ResolvedConnections {
  kafka: { brokers: string[] } & Pick<Config["kafka"], "ssl" | "tls" | "sasl">;
  registry: { url: string } & Omit<Config["registry"], "url">;
  clickhouse: { url: string; database: string } & Pick<
    Config["clickhouse"],
    "username" | "password" | "passwordFile" | "tls"
  >;
  /** Absent when everything is configured: then no stack is touched. */
  stack?: StackInfo;
}

/** Starts or attaches to the embedded stack unless all are configured; start: false attaches. */
export async function resolveConnections(
  config: Pick<Config, "kafka" | "registry" | "clickhouse" | "stack">,
  { start = true, say }: { start?: boolean; say?: ((step: string) => void) | undefined } = {},
): Promise<ResolvedConnections> {
  const { kafka, registry, clickhouse } = config;
  const complete = kafka.brokers !== undefined && registry.url !== undefined && clickhouse.url !== undefined;
  const stack = complete ? undefined : await attachStack(config.stack.folder, { start, say });
  return {
    ...chooseConnections(config, stack),
    ...(stack === undefined ? {} : { stack }),
  };
}

/** Only the choice. Throws when a service is neither configured nor embedded. */
export function chooseConnections(
  { kafka, registry, clickhouse }: Pick<Config, "kafka" | "registry" | "clickhouse">,
  stack: StackInfo | undefined,
): Omit<ResolvedConnections, "stack"> {
  const need = (): StackInfo => {
    if (stack === undefined) throw new Error("kafka.brokers, registry.url and clickhouse.url: not all are configured");
    return stack;
  };
  return {
    kafka:
      kafka.brokers === undefined
        ? // The embedded broker speaks plain text on the loopback; ssl and sasl are for a configured one.
          { brokers: need().brokers, ssl: false }
        : { brokers: kafka.brokers, ...given({ ssl: kafka.ssl, tls: kafka.tls, sasl: kafka.sasl }) },
    registry: registry.url === undefined ? { url: need().registryUrl } : { ...given(registry), url: registry.url },
    clickhouse:
      clickhouse.url === undefined
        ? { ...need().clickhouse, database: clickhouse.database }
        : {
            url: clickhouse.url,
            username: clickhouse.username,
            password: clickhouse.password,
            database: clickhouse.database,
            ...given({ passwordFile: clickhouse.passwordFile, tls: clickhouse.tls }),
          },
  };
}

/** Without what is not there. */
const given = <T extends object>(keys: T): T =>
  Object.fromEntries(Object.entries(keys).filter(([, value]) => value !== undefined)) as T;
