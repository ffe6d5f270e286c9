// From the runs of the budget benchmark to its figures, by the names of the specification. Pure.
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { SplitRules } from "../../operators/solve/byte-budget.ts";
import type { Figures } from "../benchmark.ts";
import { pairedBootstrap } from "../support/bootstrap.ts";
import { mean, significant } from "../support/statistics.ts";

/** Of examples, in the fixed splits. */
export const shares = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];

/** Saved by each share of examples, and by the learnt split. */
export interface Row {
  setting: string;
  fixed: number[];
  joint: number;
  /** Of examples, at the end. */
  share: number;
}

export function figuresOf(rows: readonly Row[], { floor, step }: SplitRules): Figures {
  const names = [...new Set(rows.map(({ setting }) => setting))];
  const of = (setting: string): Row[] => rows.filter((row) => row.setting === setting);
  /** Mean of each share over some rows. */
  const byShare = (some: readonly Row[]): number[] => shares.map((_, i) => mean(some.map(({ fixed }) => fixed[i]!)));
  const bestOf = (some: readonly Row[]): number =>
    byShare(some).reduce((best, saved, i, all) => (saved > all[best]! ? i : best), 0);
  const one = bestOf(rows);
  const hindsight = new Map(names.map((name) => [name, bestOf(of(name))]));
  const even = shares.indexOf(0.5);
  const rivals = {
    best_split: rows.map(({ setting, fixed }) => fixed[hindsight.get(setting)!]!),
    one_split: rows.map(({ fixed }) => fixed[one]!),
    even_split: rows.map(({ fixed }) => fixed[even]!),
  };
  const joint = rows.map((row) => row.joint);
  const against = (rival: readonly number[]) => {
    const { difference, low, high } = pairedBootstrap(joint, rival, { random: splitmix64(1) });
    return { difference: significant(difference, 3), low: significant(low, 3), high: significant(high, 3) };
  };
  return {
    simulated: true,
    saved_joint: significant(mean(joint), 4),
    saved_best_split: significant(mean(rivals.best_split), 4),
    saved_one_split: significant(mean(rivals.one_split), 4),
    saved_even_split: significant(mean(rivals.even_split), 4),
    joint_less_best: against(rivals.best_split),
    joint_less_one: against(rivals.one_split),
    joint_less_even: against(rivals.even_split),
    one_split_examples: shares[one],
    runs: rows.length,
    ...{ floor, step },
    settings: Object.fromEntries(
      names.map((name) => {
        const some = of(name);
        const fixed = byShare(some);
        const best = hindsight.get(name)!;
        return [
          name,
          {
            ...{ joint: significant(mean(some.map((row) => row.joint)), 4), best: significant(fixed[best]!, 4) },
            ...{ even: significant(fixed[even]!, 4), worst: significant(Math.min(...fixed), 4) },
            best_examples: shares[best],
            joint_examples: significant(mean(some.map(({ share }) => share)), 3),
          },
        ];
      }),
    ),
  };
}
