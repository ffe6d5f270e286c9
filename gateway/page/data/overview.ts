// What the arms did over a time, in steps: share, quality, cost beside always asking the most
// expensive arm, what the response cache and linked prefill saved.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import type { ArmStep, Overview } from "./port.ts";

const minuteMs = 60_000;
const steps = 60;
/** Arms times sources times steps; beyond it a chart could not be read anyway. */
const mostRows = 20_000;
const mostDays = 90;
const within =
  "created_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND created_at < fromUnixTimestamp64Milli({until:Int64}, 'UTC')";
const step = "toUnixTimestamp(toStartOfInterval(created_at, toIntervalSecond({step:UInt32}))) * 1000";

export async function readOverview(
  clickhouse: Pick<ClickHouse, "query">,
  wanted: { from: number; until: number },
): Promise<Overview> {
  const { until } = wanted;
  const from = Math.max(Math.min(wanted.from, until - minuteMs), until - mostDays * 24 * 60 * minuteMs);
  const stepMs = niceStep((until - from) / steps);
  const parameters = { from, until, step: stepMs / 1_000 };
  const [arms, savings, prefill] = await Promise.all([
    clickhouse.query<ArmStep>(
      `SELECT ${step} AS at, ifNull(response.arm, '') AS arm, source, count() AS requests, countIf(status != 'ok') AS failed,
              countIf(rewarded.weight > 0) AS rewarded, sumIf(rewarded.reward, rewarded.weight > 0) AS rewardSum,
              sum(cost) AS cost, sum(saved_cost) AS savedCost, quantile(0.5)(total_ms) AS medianMs
       FROM (SELECT * FROM responses FINAL WHERE ${within} AND NOT duplicate) AS response
       LEFT JOIN (SELECT request_id, tenant, reward, weight FROM rewards FINAL WHERE weight > 0) AS rewarded
         ON rewarded.request_id = response.request_id AND rewarded.tenant = response.tenant
       GROUP BY at, arm, source ORDER BY at, arm, source LIMIT ${mostRows}`,
      parameters,
    ),
    clickhouse.query<Overview["savings"][number]>(
      `SELECT ${step} AS at, count() AS answers, sum(savings.cost) AS cost, sum(most_expensive_cost) AS alwaysLarge, sum(savings.saved) AS saved
       FROM savings WHERE ${within} GROUP BY at ORDER BY at LIMIT ${mostRows}`,
      parameters,
    ),
    clickhouse.query<Overview["prefill"][number]>(
      `SELECT assumeNotNull(responses.arm) AS arm, sum(prompt_tokens) AS prompt, sum(linked_tokens) AS linked, sum(recomputed_tokens) AS recomputed, sum(prefilled_tokens) AS prefilled
       FROM responses FINAL WHERE ${within} AND NOT duplicate AND status = 'ok' AND source = 'generated' AND responses.arm IS NOT NULL
       GROUP BY arm HAVING linked > 0 ORDER BY arm LIMIT 100`,
      parameters,
    ),
  ]);
  return { from, until, stepMs, arms, savings, prefill };
}

const nice = [1, 2, 5, 10, 15, 30, 60, 120, 240, 720, 1_440, 2_880].map((minutes) => minutes * minuteMs);

/** The least usual step that is no shorter. */
const niceStep = (ms: number): number => nice.find((one) => one >= ms) ?? nice.at(-1)!;
