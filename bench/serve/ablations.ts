// The small model with other examples: fewer to choose from, or always the same. Each beside the
// whole pool and beside no examples, on the same requests. Pure.
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { Figures } from "../benchmark.ts";
import { pairedBootstrap } from "../support/bootstrap.ts";
import { mean, median, significant } from "../support/statistics.ts";
import { ablations, type Arm, type ArmName } from "./arms.ts";
import { type Answers, keyOf, type Row } from "./log.ts";
import { domains } from "./stream.ts";

/** What an arm stands beside. */
const comparedTo = ({ written, pool }: Arm): ArmName[] => [
  ...(["small-with", "small-without"] as const),
  ...(written === true ? ([`small-pool-${pool}`] as ArmName[]) : []),
];

/** By domain and arm; null: there are no answers. */
export function ablationsOf({ rows }: Answers, resamples: number): Figures | null {
  const besides = ({ position }: Row, compared: readonly ArmName[]): Row[] =>
    compared.flatMap((arm) => rows.get(keyOf({ position, arm })) ?? []);
  const all = domains.flatMap((domain) => {
    const arms = ablations.flatMap((arm) => {
      const compared = comparedTo(arm);
      const own = [...rows.values()].filter(
        (row) => row.arm === arm.name && row.domain === domain && besides(row, compared).length === compared.length,
      );
      const others = own.map((row) => besides(row, compared));
      return own.length === 0 ? [] : [[arm.name, figuresOf(own, { compared, others, resamples })] as const];
    });
    return arms.length === 0 ? [] : [[domain, Object.fromEntries(arms)] as const];
  });
  return all.length === 0 ? null : Object.fromEntries(all);
}

interface Comparing {
  compared: readonly ArmName[];
  /** By request, in the order of `compared`. */
  others: readonly Row[][];
  resamples: number;
}

function figuresOf(own: readonly Row[], { compared, others, resamples }: Comparing): Figures {
  const scores = own.map(({ lenient }) => lenient);
  const gains = compared.map((name, i) => {
    const rows = others.map((all) => all[i]!);
    const { difference, low, high } = pairedBootstrap(
      scores,
      rows.map(({ lenient }) => lenient),
      { random: splitmix64(11), resamples },
    );
    const gain = { gain: significant(difference), gain_low: significant(low), gain_high: significant(high) };
    return [`beside_${name.replaceAll("-", "_")}`, { ...gain, ...summaryOf(rows) }] as const;
  });
  return { n: own.length, ...summaryOf(own), ...Object.fromEntries(gains) };
}

/** CPU seconds of the model; milliseconds; examples shown by the system (null: not logged). */
const summaryOf = (rows: readonly Row[]): Figures => ({
  quality: significant(mean(rows.map(({ lenient }) => lenient))),
  cpu_model_s: significant(mean(rows.map(({ cpu }) => cpu.model))),
  ttft_ms: Math.round(median(rows.map(({ firstTokenMs }) => firstTokenMs ?? 0))),
  shown: rows.every(({ shown }) => shown !== undefined) ? significant(mean(rows.map(({ shown = 0 }) => shown))) : null,
});
