// Experiments with the verdict on each variant (docs/experiments.md).
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import type { ExperimentVariant } from "./types/policies.ts";

const mostVariants = 200;

/** The newest experiments first, each with its control first. */
export const readExperiments = (clickhouse: Pick<ClickHouse, "query">, name = ""): Promise<ExperimentVariant[]> =>
  clickhouse.query<ExperimentVariant>(
    `SELECT experiment, variant, units, requests, unanswered, rated_units AS ratedUnits, reward, cost, total_ms AS totalMs,
            difference, low, high, verdict, toUnixTimestamp64Milli(last_at) AS lastAt
     FROM experiments WHERE {name:String} = '' OR experiment = {name:String}
     ORDER BY max(last_at) OVER (PARTITION BY experiment) DESC, experiment, is_control DESC, variant
     LIMIT ${mostVariants}`,
    { name },
  );
