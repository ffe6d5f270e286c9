// Hourly limits of feedback by source and author: what is above, by arrival, stands in
// feedback_excess and does not count. Withdrawn feedback takes no slot. Idempotent, as aggregate.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { meant, withWithdrawals } from "../counting.ts";
import { inHours, inRange, nextVersion } from "./statements.ts";
import { withNamed } from "./withdrawals.ts";

export interface FeedbackLimits {
  perSourceHour: number;
  /** The same of an author of it; feedback without an author has no such limit. */
  perAuthorHour: number;
}

interface ExcessDependencies {
  clickhouse: Pick<ClickHouse, "query" | "command">;
  reader: string;
  /** Absent: everything counts. */
  limits: FeedbackLimits | undefined;
}

interface Changed {
  changed: string;
  parameters: Record<string, unknown>;
  positions: Record<string, unknown>[];
}

const table = "feedback_excess";

/** From new feedback and of withdrawals: hours of a tenant's source with more than may be. */
const selectCrowded = (hasNamed: boolean): string => `
WITH ${hasNamed ? `${withNamed},` : ""}
  touched AS (
    SELECT DISTINCT tenant, source, toStartOfHour(created_at) AS hour FROM feedback
    WHERE ${inRange("feedback")} ${hasNamed ? `OR ${meant("named")}` : ""}
  )
SELECT tenant, source, toUnixTimestamp(toStartOfHour(created_at)) AS hour FROM feedback
WHERE (tenant, source, toStartOfHour(created_at)) GLOBAL IN (touched)
GROUP BY tenant, source, hour
HAVING count() > {least:UInt64}`;

/** Only what says something takes a slot: a withdrawal by id always holds. */
const insertExcess = `
INSERT INTO ${table} (request_id, tenant, feedback_id, created_at, excess, version)
SELECT ranked.request_id, ranked.tenant, ranked.feedback_id, ranked.created_at, ranked.above, ${nextVersion(table)}
FROM (
  SELECT *, over_author OR shared > {perSource:UInt64} AS above
  FROM (
    SELECT *, sum(NOT over_author) OVER (
      PARTITION BY tenant, source, hour ORDER BY created_at, kafka_partition, kafka_offset
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS shared
    FROM (
      WITH ${withWithdrawals}
      SELECT
        request_id, tenant, source, feedback_id, created_at, kafka_partition, kafka_offset,
        toStartOfHour(created_at) AS hour,
        author != '' AND row_number() OVER (
          PARTITION BY tenant, source, author, hour ORDER BY created_at, kafka_partition, kafka_offset) > {perAuthor:UInt64} AS over_author
      FROM feedback FINAL
      WHERE ${inHours}
        AND (tenant, source, toUnixTimestamp(toStartOfHour(created_at))) IN (
          SELECT bucket.1, bucket.2, bucket.3 FROM (
            SELECT arrayJoin(arrayZip({tenants:Array(String)}, {sources:Array(String)}, {hours:Array(UInt32)})) AS bucket))
        AND (value IS NOT NULL OR kind = 'correction') AND NOT ${meant("inForce")}
    )
  )
) AS ranked
LEFT JOIN (
  SELECT request_id, tenant, feedback_id, excess FROM ${table} FINAL
  WHERE ${inHours}
) AS known ON known.request_id = ranked.request_id AND known.tenant = ranked.tenant AND known.feedback_id = ranked.feedback_id
WHERE ranked.above != known.excess
SETTINGS distributed_product_mode = 'local'`;

export function createExcess({ clickhouse, reader, limits }: ExcessDependencies) {
  return {
    /** Settles hours of new feedback and of named withdrawals; null: nothing is above. */
    async settle(ranges: Record<string, unknown>, named: readonly string[]): Promise<Changed | null> {
      if (limits === undefined) return null;
      const { perSourceHour, perAuthorHour } = limits;
      const crowded = await clickhouse.query<{ tenant: string; source: string; hour: number }>(
        selectCrowded(named.length > 0),
        { ...ranges, named, least: Math.min(perSourceHour, perAuthorHour) },
      );
      if (crowded.length === 0) return null;
      const hours = crowded.map(({ hour }) => hour);
      await clickhouse.command(insertExcess, {
        ...{ perSource: perSourceHour, perAuthor: perAuthorHour, hours },
        tenants: crowded.map(({ tenant }) => tenant),
        sources: crowded.map(({ source }) => source),
        firstHour: Math.min(...hours),
        lastHour: Math.max(...hours),
      });
      const [known] = await clickhouse.query<{ position: number; newest: number }>(
        `SELECT (SELECT max(next_offset) FROM learn_positions WHERE reader = {reader:String} AND topic = '${table}') AS position,
          (SELECT max(version) FROM ${table}) AS newest`,
        { reader },
      );
      return {
        changed: `SELECT request_id, tenant FROM ${table} WHERE version >= {excessFrom:UInt64}`,
        parameters: { excessFrom: known?.position ?? 0 },
        positions: [{ reader, topic: table, kafka_partition: 0, next_offset: (known?.newest ?? 0) + 1 }],
      };
    },
  };
}
