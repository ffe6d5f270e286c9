// What learn keeps, computed piece by piece under faults, against the same computed at once in a
// database of its own from the same feedback and decisions.
import { setTimeout as sleep } from "node:timers/promises";
import { FEATURE_COUNT, FEATURE_VERSION } from "../../../algorithms/routing/features.ts";
import { createClickHouse } from "../../../connections/clickhouse/client.ts";
import { migrate } from "../../../connections/clickhouse/migrate.ts";
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import { createAggregate } from "../../../operators/aggregate/aggregate.ts";
import type { Rig } from "./rig.ts";

const tables = {
  rewards:
    "SELECT request_id, tenant, reward, weight, counted, received FROM rewards FINAL ORDER BY request_id, tenant",
  arm_hours: `SELECT arm, model, toUnixTimestamp(hour) AS at, arrayMap(x -> round(x, 6), a) AS a, arrayMap(x -> round(x, 6), b) AS b,
      round(weight, 6) AS weight, round(reward_sum, 6) AS reward_sum, rewards
    FROM arm_hours FINAL WHERE rewards > 0 AND feature_version = ${FEATURE_VERSION} ORDER BY arm, model, at`,
};

/** Positions of learn that lie before what record has stored. */
const behind = `SELECT stored.topic AS topic, stored.p AS p, stored.end AS end, read.next AS next FROM
    (SELECT if(kafka_origin = '', topic, concat(topic, '@', kafka_origin)) AS topic, kafka_partition AS p, max(kafka_offset) + 1 AS end FROM feedback GROUP BY topic, p
     UNION ALL SELECT if(kafka_origin = '', topic, concat(topic, '@', kafka_origin)) AS topic, kafka_partition AS p, max(kafka_offset) + 1 AS end FROM decisions GROUP BY topic, p) AS stored
  LEFT JOIN (SELECT topic, kafka_partition AS p, max(next_offset) AS next FROM learn_positions WHERE reader = 'router@${FEATURE_VERSION}' GROUP BY topic, p) AS read
    ON stored.topic = read.topic AND stored.p = read.p
  WHERE next < end`;

/**
 * Resolves to what differs, and how many rows there are. Call it when record has read everything.
 */
export async function checkAggregates(
  { session }: Rig,
  withinMs = 60_000,
): Promise<{ rows: Record<string, number>; violations: string[] }> {
  const { config, clickhouse, topic, connections } = session;
  for (const end = Date.now() + withinMs; ; await sleep(500)) {
    const waiting = await clickhouse.query<{ topic: string; p: number; end: number; next: number }>(behind);
    if (waiting.length === 0) break;
    if (Date.now() > end)
      return {
        rows: {},
        violations: [`learn has not read everything within ${withinMs} ms: ${JSON.stringify(waiting)}`],
      };
  }
  const database = `${config.clickhouse.database}_again`;
  const { url, username, password } = connections.clickhouse;
  await migrate(clickhouse, { database, ttlDays: 0 });
  const again = createClickHouse({ url, username, password, database });
  try {
    for (const table of ["feedback", "decisions", "requests", "responses"])
      await again.command(`INSERT INTO ${table} SELECT * FROM ${config.clickhouse.database}.${table}`);
    const topics = { feedback: topic("feedback"), decisions: topic("decisions") };
    const aggregate = createAggregate({
      ...{ clickhouse: again, topics, featureVersion: FEATURE_VERSION, dimension: FEATURE_COUNT },
    });
    while ((await aggregate.advance()).more);
    const violations: string[] = [];
    const rows: Record<string, number> = {};
    for (const [table, query] of Object.entries(tables)) {
      const [kept, anew] = await Promise.all([clickhouse, again].map((of) => textsOf(of, query)));
      rows[table] = anew?.length ?? 0;
      const differs = anew?.findIndex((row, i) => row !== kept?.[i]) ?? -1;
      if (kept?.length !== anew?.length || differs >= 0)
        violations.push(
          `${table}: ${kept?.length} rows kept, ${anew?.length} computed anew; the first that differs: ${kept?.[differs]} and ${anew?.[differs]}`,
        );
    }
    return { rows, violations };
  } finally {
    await again.command(`DROP DATABASE IF EXISTS ${database}`);
    await again.close();
  }
}

const textsOf = async (clickhouse: ClickHouse, query: string): Promise<string[]> =>
  (await clickhouse.query<object>(query)).map((row) => JSON.stringify(row));
