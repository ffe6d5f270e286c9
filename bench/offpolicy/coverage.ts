// Error of the estimators and coverage of their intervals, over many logs of one world and size.
import { estimators, type Estimator } from "../../algorithms/off-policy/estimators.ts";
import { evaluate } from "../../algorithms/off-policy/evaluate.ts";
import { feedbackRates, type FeedbackCell } from "../../algorithms/off-policy/feedback-rate.ts";
import { crossFitted } from "../../algorithms/off-policy/reward-model.ts";
import type { Random } from "../../algorithms/numeric/random.ts";
import { sampleLog, type Sampled, type World } from "./worlds.ts";

export interface Covered {
  estimator: Estimator;
  /** Root of the mean squared error against the truth. */
  rmse: number;
  /** Mean of the estimates less the truth. */
  bias: number;
  /** Share of the intervals that hold the truth; null for dm, which has none. */
  coverage: number | null;
}

/** Nominal coverage 0.95; feedback that is missing is corrected for. */
export function measureCoverage(
  world: World,
  { count, logs, truth, random }: { count: number; logs: number; truth: number; random: Random },
): Covered[] {
  const sums = estimators.map(() => ({ squares: 0, errors: 0, held: 0, intervals: 0 }));
  for (let n = 0; n < logs; n++) {
    const sampled = sampleLog(world, count, random);
    const predicted = crossFitted(sampled.log);
    const feedbackWeight = world.missing ? correction(sampled) : undefined;
    estimators.forEach((name, k) => {
      const options = { cap: 100, costWeight: 0, predicted, feedbackWeight };
      const normal = { kind: "normal", confidence: 0.95, seed: 1 } as const;
      const { value, interval } = evaluate(name, sampled.log, sampled.target, options, normal);
      const sum = sums[k]!;
      const error = (value ?? 0) - truth;
      sum.squares += error * error;
      sum.errors += error;
      if (interval === null) return;
      sum.intervals++;
      if (interval.low <= truth && truth <= interval.high) sum.held++;
    });
  }
  return estimators.map((estimator, k) => {
    const { squares, errors, held, intervals } = sums[k]!;
    return {
      ...{ estimator, rmse: Math.sqrt(squares / logs), bias: errors / logs },
      coverage: intervals === 0 ? null : held / intervals,
    };
  });
}

/** As analysis/off-policy/read.ts weights rewards: by arm and class of length. */
function correction({ log, longer }: Sampled): Float64Array {
  const cells = new Map<string, FeedbackCell>();
  const armOf = (i: number): string => log.arms[log.arm[log.chosen[i]!]!]!;
  log.chosen.forEach((_, i) => {
    const [arm, length] = [armOf(i), longer[i]!];
    const cell = cells.get(`${arm}/${length}`) ?? {
      arm,
      length,
      domain: "",
      asking: "never",
      decisions: 0,
      rewarded: 0,
    };
    cell.decisions++;
    if (!Number.isNaN(log.reward[i]!)) cell.rewarded++;
    cells.set(`${arm}/${length}`, cell);
  });
  const rates = feedbackRates([...cells.values()]);
  return Float64Array.from(log.chosen, (_, i) =>
    Number.isNaN(log.reward[i]!) ? 0 : 1 / rates.rateOf(armOf(i), longer[i]!, "", 0),
  );
}
