// What each operator of plan took, by the median: exactly, from the decisions recorded since a
// moment; compose, which ends after the decision is written, from the histogram of /metrics.
import { histogramQuantile, significant, type Bucket } from "../support/statistics.ts";
import type { RealLoop } from "./system.ts";

/** since: milliseconds since the epoch. */
export async function planTimes(
  { session, processes }: RealLoop,
  since: number,
): Promise<Record<string, number | null>> {
  const rows = await session.clickhouse.query<{ operator: string; ms: number }>(
    `SELECT timing.operator AS operator, quantileExact(0.5)(timing.ms) AS ms
     FROM decisions ARRAY JOIN timings AS timing
     WHERE created_at >= fromUnixTimestamp64Milli(toInt64(${Math.floor(since)})) GROUP BY operator ORDER BY min(indexOf(timings.operator, operator))`,
  );
  const metrics = await fetch(String(processes[0]?.child.announced.metrics)).then((response) => response.text());
  const compose = histogramQuantile(bucketsOf(metrics, { stage: "plan", operator: "compose" }), 0.5) * 1000;
  return {
    ...Object.fromEntries(rows.map(({ operator, ms }) => [operator, significant(ms, 3)])),
    compose: Number.isNaN(compose) ? null : significant(compose, 3),
  };
}

/** The buckets of precedent_operator_seconds with these labels, from Prometheus' text format. */
export function bucketsOf(text: string, labels: Readonly<Record<string, string>>): Bucket[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("precedent_operator_seconds_bucket{"))
    .filter((line) => Object.entries(labels).every(([name, value]) => line.includes(`${name}="${value}"`)))
    .map((line) => ({
      atMost: Number(/le="([^"]+)"/.exec(line)?.[1]?.replace("+Inf", "Infinity")),
      count: Number(line.slice(line.lastIndexOf(" ") + 1)),
    }));
}
