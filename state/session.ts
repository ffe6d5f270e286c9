// What a process has open, as its stages see it. pipelines/session.ts opens it.
import type { Logger } from "pino";
import type { Load } from "../algorithms/routing/load-bias.ts";
import type { Random } from "../algorithms/numeric/random.ts";
import type { Arm } from "../arms/arm.ts";
import type { ArmConfig, Config } from "../config/schema.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import type { Kafka } from "../connections/kafka/port.ts";
import type { Codec, TenantOf } from "../connections/registry/port.ts";
import type { TextWork } from "../connections/text/port.ts";
import type { Tracing } from "../connections/tracing/port.ts";
import type { MetricsRegistry } from "../runtime/metrics/stage.ts";
import type { ClickHouseUse, Consumed, Held, Reached, Sent } from "../runtime/declaration.ts";
import type { RecordOf, Topic, TopicName } from "../schemas/records.ts";
import type { ArmsInForce } from "./arms.ts";
import type { ConfiguredTenants, TenantsInForce } from "./tenants.ts";

/** What stages have in place of clock, chance, load and arms where a log is replayed. */
export interface LogReplayWorld {
  /** Milliseconds since the epoch: of the record under way, else the beginning of the replay. */
  clock(): number;
  random: Random;
  load(): Load;
  inItsTime<T>(record: RecordOf[TopicName], work: () => Promise<T>): Promise<T>;
  /** Answers from the log, or the arm that `open` makes, where it was asked for. */
  arm(config: ArmConfig, open: () => Promise<Arm>): Promise<Arm>;
}

export interface Session {
  config: Config;
  /** config.arms at first; may be replaced while the process runs. */
  arms: ArmsInForce;
  /** config.tenants at first; likewise. */
  tenants: TenantsInForce;
  log: Logger;
  metrics: MetricsRegistry;
  kafka: Kafka;
  codec: Codec & TenantOf;
  clickhouse: ClickHouse;
  /** One for all stages of the process; starts its worker when it is first needed. */
  text: TextWork;
  tracing?: Tracing | undefined;
  /** Topics and subjects of arms that were not configured at the start. */
  prepareArms(names: readonly string[]): Promise<void>;
  /** The same of tenants. */
  prepareTenants(tenants: ConfiguredTenants): Promise<void>;
  /** A log replay: time, chance, load and answers are the log's; absent: they are real. */
  logReplay?: LogReplayWorld | undefined;
  /** Full name of a topic; work with its arm, those of tenants with their tenant. */
  topic<N extends TopicName | "locks">(name: N, owner?: string): Topic<N>;
}

/** A session as a stage's declaration lets it use: anything undeclared does not compile. */
export type SessionOf<D extends Reached> = Omit<Session, "kafka" | "clickhouse"> & {
  kafka: Kafka<Consumed<D>, Held<D>, Sent<D>>;
  clickhouse: Pick<ClickHouse, ClickHouseUse<D>>;
};
