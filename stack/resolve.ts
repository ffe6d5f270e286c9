// Where Kafka, the registry and ClickHouse are: each from the configuration where it names one,
// else from the embedded stack.
import type { Config } from "../config/schema.ts";
import { attachStack, type StackInfo } from "./attach.ts";

export interface ResolvedConnections {
  kafka: { brokers: string[]; ssl: boolean; sasl?: NonNullable<Config["kafka"]["sasl"]> };
  registry: { url: string; username?: string; password?: string };
  clickhouse: { url: string; username: string; password: string; database: string };
  /** Absent when everything is configured: then no stack is touched. */
  stack?: StackInfo;
}

/**
 * Starts the embedded stack (or attaches to it) when at least one of the three is not configured;
 * `start: false` only attaches. The stack runs whole, also when just one of its servers is needed.
 */
export async function resolveConnections(
  config: Pick<Config, "kafka" | "registry" | "clickhouse" | "stack">,
  { start = true }: { start?: boolean } = {},
): Promise<ResolvedConnections> {
  const { kafka, registry, clickhouse } = config;
  const complete = kafka.brokers !== undefined && registry.url !== undefined && clickhouse.url !== undefined;
  const stack = complete ? undefined : await attachStack(config.stack.folder, { start });
  return {
    ...chooseConnections(config, stack),
    ...(stack === undefined ? {} : { stack }),
  };
}

/**
 * The choice alone, without starting anything. Throws when something is neither configured nor in
 * the stack.
 */
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
        : { brokers: kafka.brokers, ssl: kafka.ssl, ...(kafka.sasl === undefined ? {} : { sasl: kafka.sasl }) },
    registry:
      registry.url === undefined
        ? { url: need().registryUrl }
        : {
            url: registry.url,
            ...(registry.username === undefined ? {} : { username: registry.username }),
            ...(registry.password === undefined ? {} : { password: registry.password }),
          },
    clickhouse:
      clickhouse.url === undefined
        ? { ...need().clickhouse, database: clickhouse.database }
        : {
            url: clickhouse.url,
            username: clickhouse.username,
            password: clickhouse.password,
            database: clickhouse.database,
          },
  };
}
