// How far each stage is behind, who runs it, what hangs, and how fresh the tables are.
import { messageOf } from "../../../connections/errors.ts";
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import type { Kafka } from "../../../connections/kafka/port.ts";
import type { ArmBreaker } from "../../../schemas/types.ts";
import { isOpenLetter } from "./dead-letters.ts";
import type { Health, StageLag } from "./types/health.ts";
import { replicasOf } from "./replicas.ts";

export interface StageGroup {
  stage: string;
  group: string;
  /** Topics in which the group has positions. */
  topics: readonly string[];
}

export interface HealthDependencies {
  kafka: Pick<Kafka, "lag" | "members" | "stuck">;
  clickhouse: Pick<ClickHouse, "query">;
  stages: () => readonly StageGroup[];
  /** What processes say of the arms that they called in the last half minute. */
  arms: () => Promise<ArmBreaker[]>;
  /** Utilisation; undefined: not read yet. */
  loadByArm: () => ReadonlyMap<string, number> | undefined;
}

const tables = ["requests", "decisions", "responses", "feedback", "policies"];

/** What can't be reached is a problem in it, and no failure. */
export async function readHealth({ kafka, clickhouse, stages, arms, loadByArm }: HealthDependencies): Promise<Health> {
  const problems: string[] = [];
  const orNothing = async <T>(what: string, look: () => Promise<T[]>): Promise<T[]> => {
    try {
      return await look();
    } catch (error) {
      problems.push(`${what}: ${messageOf(error)}`);
      return [];
    }
  };
  const [lags, reported, letters, fresh] = await Promise.all([
    Promise.all(stages().map((stage) => orNothing(stage.stage, () => lagsOf(kafka, stage)))),
    orNothing("arms", arms),
    orNothing("dead letters", () =>
      clickhouse.query<Health["deadLetters"][number]>(
        `SELECT source_topic AS topic, stage, code, substringUTF8(argMax(reason, created_at), 1, 300) AS reason, uniqExact(source_partition, source_offset) AS count, toUnixTimestamp64Milli(max(created_at)) AS newest
         FROM dead_letters WHERE created_at > now() - INTERVAL 1 WEEK AND ${isOpenLetter} GROUP BY topic, stage, code ORDER BY newest DESC LIMIT 50`,
      ),
    ),
    orNothing("ClickHouse", () =>
      clickhouse.query<Health["tables"][number]>(
        tables
          .map(
            (table) =>
              `SELECT '${table}' AS table, if(count() = 0, NULL, toUnixTimestamp64Milli(max(created_at))) AS newest, countIf(created_at > now() - INTERVAL 1 HOUR) AS lastHour FROM ${table} WHERE created_at > now() - INTERVAL 1 WEEK`,
          )
          .join(" UNION ALL "),
      ),
    ),
  ]);
  const order = new Map(tables.map((table, i) => [table, i]));
  return {
    stages: lags.flat(),
    stuck: kafka.stuck().map(({ topic, partition, since }) => ({ topic, partition, since })),
    breakers: reported.flatMap(({ arm, state, instance }) => (state === "closed" ? [] : [{ arm, state, instance }])),
    replicas: replicasOf(reported),
    load: [...(loadByArm() ?? [])].map(([arm, load]) => ({ arm, load })),
    deadLetters: letters,
    tables: fresh.sort((one, other) => (order.get(one.table) ?? 0) - (order.get(other.table) ?? 0)),
    problems,
  };
}

async function lagsOf(kafka: HealthDependencies["kafka"], { stage, group, topics }: StageGroup): Promise<StageLag[]> {
  const members = await kafka.members(group);
  if (topics.length === 0) return [{ stage, members, topic: "", lag: null }];
  const all: StageLag[] = [];
  // One after the other: the page is no reason to ask the brokers for everything at once.
  for (const topic of topics) {
    const read = (await kafka.lag(group, topic)).filter(({ committed }) => committed !== undefined);
    const lag = read.reduce((sum, { end, committed = 0 }) => sum + Math.max(0, end - committed), 0);
    all.push({ stage, members, topic, lag: read.length === 0 ? null : lag });
  }
  return all;
}
