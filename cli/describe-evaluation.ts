// An off-policy evaluation for people: values with intervals, what was left out, warnings.
import type { Estimate } from "../algorithms/off-policy/evaluate.ts";
import type { ReadLog } from "../analysis/off-policy/read.ts";
import { leftOutReasons } from "../analysis/off-policy/statements.ts";
import type { DomainDifference, PolicyValue } from "../analysis/off-policy/values.ts";
import { tableOf } from "./reading.ts";

const short = (value: number | null): string => (value === null ? "-" : value.toFixed(4));
const share = (value: number): string => `${(100 * value).toFixed(1)} %`;

/** Warned of: more than this share of a target's choices is nowhere in the log. */
const mostUnsupported = 0.01;
const leastEffective = 100;

export interface Described {
  names: readonly string[];
  read: ReadLog;
  values: readonly PolicyValue[];
}

export function describeValues(described: Described): string {
  const rows = described.values.flatMap(({ estimates }, i) =>
    estimates.map((estimate) => [described.names[i]!, ...estimateRow(estimate)]),
  );
  return tableOf(["policy", "estimator", "value", "low", "high", "interval"], rows) + describeRest(described);
}

export function describeDifferences(
  described: Described,
  differences: readonly Estimate[],
  domains: readonly DomainDifference[],
): string {
  const [base = "", target = ""] = described.names;
  const [first, second] = described.values;
  const rows = differences.map((estimate, i) => [
    ...[estimate.estimator, short(first?.estimates[i]?.value ?? null), short(second?.estimates[i]?.value ?? null)],
    ...estimateRow(estimate).slice(1),
  ]);
  const head = ["estimator", base, target, `${target} - ${base}`, "low", "high", "interval"];
  const byDomain =
    domains.length < 2
      ? ""
      : tableOf(
          ["domain", "decisions", `${target} - ${base}`, "low", "high"],
          domains.map(({ domain, decisions, difference }) => [
            ...[domain, decisions, short(difference.value)],
            ...[short(difference.interval?.low ?? null), short(difference.interval?.high ?? null)],
          ]),
        );
  return tableOf(head, rows) + byDomain + describeRest(described);
}

const estimateRow = ({ estimator, value, interval, intervalBy }: Estimate): string[] => [
  ...[estimator, short(value), short(interval?.low ?? null), short(interval?.high ?? null), intervalBy],
];

function describeRest(described: Described): string {
  const { names, values, read } = described;
  const support = tableOf(
    ["policy", "decisions", "effective", "largest weight", "clipped", "not in the log"],
    values.map(({ support: { decisions, effective, largestWeight, clipped, unsupported } }, i) => [
      ...[names[i]!, decisions, effective.toFixed(1), largestWeight.toPrecision(3), share(clipped), share(unsupported)],
    ]),
  );
  const left = [...read.leftOut].map(([reason, count]) => `  ${count} ${leftOutReasons[reason]}`);
  const used = read.log.chosen.length;
  const lines = [
    `${used} decisions${used < read.usable ? ` of ${read.usable} that can be used` : ""}; left out:`,
    ...(left.length === 0 ? ["  none"] : left),
    ...warnings(described).map((warning) => `warning: ${warning}`),
  ];
  return `${support}${lines.join("\n")}\n`;
}

function warnings({ names, read, values }: Described): string[] {
  const { rates } = read;
  const out: string[] = [];
  if (rates.uneven) {
    const by = rates.arms.map(({ arm, rate }) => `${arm} ${share(rate)}`).join(", ");
    const corrected =
      read.correctedBy === "kind"
        ? "the weights correct for what arm, length and domain explain, nothing else"
        : "--correct-feedback weights for arm, length and domain";
    out.push(`feedback is missing by arm (${by}): values may be biased; ${corrected}`);
  }
  if (rates.selective)
    out.push(
      `feedback comes where it was asked for (asked ${share(rates.asking.asked ?? 0)}, not asked ${share(rates.asking.unasked ?? 0)}): a reward counts by the inverse of its probability`,
    );
  values.forEach(({ support }, i) => {
    if (support.unsupported > mostUnsupported)
      out.push(
        `${names[i]} gives ${share(support.unsupported)} of its choices to arms that the log does not show there`,
      );
    if (support.effective < leastEffective)
      out.push(
        `${names[i]} rests on as much as ${support.effective.toFixed(1)} decisions of its own: intervals may be too narrow`,
      );
  });
  return out;
}

export const evaluationJson = (described: Described) => ({
  decisions: described.read.log.chosen.length,
  usable: described.read.usable,
  left_out: Object.fromEntries(described.read.leftOut),
  feedback: {
    corrected: described.read.feedbackWeight !== undefined,
    corrected_by: described.read.correctedBy,
    asking: described.read.rates.asking,
    uneven: described.read.rates.uneven,
    arms: described.read.rates.arms,
  },
  policies: described.values.map(({ support, estimates }, i) => ({
    policy: described.names[i]!,
    effective: support.effective,
    largest_weight: support.largestWeight,
    clipped: support.clipped,
    unsupported: support.unsupported,
    estimates: estimates.map(estimateJson),
  })),
  warnings: warnings(described),
});

export const estimateJson = ({ estimator, value, error, interval, intervalBy }: Estimate) => ({
  ...{ estimator, value, error, low: interval?.low ?? null, high: interval?.high ?? null, interval: intervalBy },
});
