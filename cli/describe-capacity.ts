// A plan of capacity in tables, and the same for programs.
import type { Check, Compared } from "../analysis/capacity/models.ts";
import type { Prediction, Quantiles } from "../analysis/capacity/plan.ts";
import type { CapacityReport } from "../analysis/capacity/report.ts";
import { tableOf } from "./reading.ts";

const ms = (value: number): string => (Number.isFinite(value) ? value.toFixed(value < 100 ? 1 : 0) : "-");
const rate = (value: number | null | undefined): string =>
  value === null || value === undefined ? "-" : value.toPrecision(3);
const share = (value: number): string => `${(100 * value).toFixed(1)} %`;
const objective = (value: number): string => (Number.isFinite(value) ? `${value} ms` : "none");
const perSecond = (value: number): string => (value === Infinity ? "no limit" : value.toPrecision(3));

export function describeCapacity(report: CapacityReport): string {
  const { traffic, objectives, warnings } = report;
  return [
    "service times, fitted\n",
    tableOf(
      [
        "arm",
        "calls",
        "constant ms",
        "prefill ms/token",
        "linked ms/token",
        "decode ms/token",
        "spread p10-p90",
        "at once",
      ],
      report.arms.map(({ arm, calls, rates, spread, mostAtOnce }) => [
        ...[arm, calls, rate(rates?.constantMs), rate(rates?.prefillMsPerToken), rate(rates?.linkedMsPerToken)],
        ...[rate(rates?.decodeMsPerToken), spread === null ? "-" : `${spread.p10.toFixed(2)}-${spread.p90.toFixed(2)}`],
        mostAtOnce,
      ]),
    ),
    "the log's own queues beside the same requests on paper, ms\n",
    tableOf(
      [
        "arm",
        "requests",
        "queue p50",
        "on paper",
        "queue p90",
        "on paper",
        "total p50",
        "on paper",
        "total p90",
        "on paper",
      ],
      report.check.map(({ arm, requests, queue, total }) => [
        ...[arm ?? "all", requests],
        ...[queue.p50, queue.p90, total.p50, total.p90].flatMap(comparedCells),
      ]),
    ),
    `${traffic.requests} requests of ${traffic.source}${traffic.factor === 1 ? "" : ` times ${traffic.factor}`}, ${rate(traffic.ratePerSecond)} a second, arms by ${report.policy}\n`,
    tableOf(
      [
        "workers",
        "queue p50",
        "p90",
        "p99",
        "first token p50",
        "p90",
        "p99",
        "total p50",
        "p90",
        "p99",
        "within",
        "goodput/s",
      ],
      plansOf(report).map(([name, plan]) => [
        name,
        ...[plan.queue, plan.firstToken, plan.total].flatMap((of: Quantiles) => [ms(of.p50), ms(of.p90), ms(of.p99)]),
        ...[share(plan.attainment), perSecond(plan.goodput)],
      ]),
    ),
    `objectives: first token ${objective(objectives.firstTokenMs)}, total ${objective(objectives.totalMs)}, for ${share(objectives.attainment)} of the requests\n`,
    tableOf(
      ["workers", "arm", "share", "workers", "places each", "utilisation"],
      plansOf(report).flatMap(([name, plan]) =>
        plan.arms.map(({ arm, share: part, workers, places, utilisation }) => [
          ...[name, arm, share(part), workers, places, share(utilisation)],
        ]),
      ),
    ),
    ...warnings.map((warning) => `warning: ${warning}\n`),
  ].join("");
}

const plansOf = ({ current, asked }: CapacityReport): [string, Prediction][] => [
  ["current", current],
  ...(asked === null ? [] : [["asked", asked] as [string, Prediction]]),
];

const comparedCells = ({ logged, simulated, error }: Compared): string[] => [
  ms(logged),
  `${ms(simulated)}${error === null ? "" : ` (${error < 0 ? "" : "+"}${(100 * error).toFixed(0)} %)`}`,
];

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

export const capacityJson = (report: CapacityReport) => ({
  window: {
    since: new Date(report.window.since).toISOString(),
    until: new Date(report.window.until).toISOString(),
    requests: report.window.requests,
  },
  left_out: report.leftOut,
  arms: report.arms.map(({ arm, calls, rates, spread, mostAtOnce, workers, places }) => ({
    ...{ arm, calls, workers, places, most_at_once: mostAtOnce, spread },
    constant_ms: rates?.constantMs ?? null,
    prefill_ms_per_token: rates?.prefillMsPerToken ?? null,
    linked_ms_per_token: rates?.linkedMsPerToken ?? null,
    decode_ms_per_token: rates?.decodeMsPerToken ?? null,
  })),
  check: report.check.map(({ arm, requests, queue, total }: Check) => ({
    ...{ arm, requests, queue_ms: queue, total_ms: total },
  })),
  policy: report.policy,
  traffic: {
    ...{ source: report.traffic.source, requests: report.traffic.requests, factor: report.traffic.factor },
    requests_per_s: report.traffic.ratePerSecond,
  },
  objectives: {
    ttft_ms: finite(report.objectives.firstTokenMs),
    total_ms: finite(report.objectives.totalMs),
    attainment: report.objectives.attainment,
  },
  current: predictionJson(report.current),
  asked: report.asked === null ? null : predictionJson(report.asked),
  warnings: report.warnings,
});

const predictionJson = (plan: Prediction) => ({
  ...{ queue_ms: plan.queue, first_token_ms: plan.firstToken, total_ms: plan.total, attainment: plan.attainment },
  // null: no rate is too much.
  goodput_per_s: finite(plan.goodput),
  arms: plan.arms,
});
