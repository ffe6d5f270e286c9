// The figures of an off-policy evaluation, from what read.ts read: values of the targets, and
// differences between two of them, over all decisions and by domain.
import { needsModel, type Estimator, type EstimatorOptions } from "../../algorithms/off-policy/estimators.ts";
import { difference, evaluate, type Estimate, type IntervalOptions } from "../../algorithms/off-policy/evaluate.ts";
import { crossFitted } from "../../algorithms/off-policy/reward-model.ts";
import { importanceWeights, supportOf, type Support } from "../../algorithms/off-policy/weights.ts";
import type { ReadLog } from "./read.ts";
import { groupBy } from "../../algorithms/lists/lists.ts";

export interface ValueOptions {
  estimators: readonly Estimator[];
  cap: number;
  costWeight: number;
  interval: IntervalOptions;
}

export interface PolicyValue {
  support: Support;
  estimates: Estimate[];
}

export interface DomainDifference {
  domain: string;
  decisions: number;
  difference: Estimate;
}

export interface Values {
  values: PolicyValue[];
  /** Predicted reward of every candidate; undefined where no estimator needs it. */
  predicted: Float64Array | undefined;
}

/** Domains shown at most, the largest first. */
const mostDomains = 50;

export function valuesOf(read: ReadLog, options: ValueOptions): Values {
  const predicted = options.estimators.some(needsModel) ? crossFitted(read.log) : undefined;
  const of = estimating(read, predicted, options);
  const values = read.targets.map((target): PolicyValue => {
    const support = supportOf(read.log, target, importanceWeights(read.log, target), options.cap);
    // A decision on which the target's arm was not allowed has no support either.
    const missed = read.leftOut.get("not_allowed") ?? 0;
    const all = support.decisions + missed;
    const unsupported = all === 0 ? 0 : (support.unsupported * support.decisions + missed) / all;
    const estimates = options.estimators.map((name) => evaluate(name, read.log, target, of, options.interval));
    return { support: { ...support, unsupported }, estimates };
  });
  return { values, predicted };
}

export function differencesOf(read: ReadLog, { predicted }: Values, options: ValueOptions): Estimate[] {
  const of = estimating(read, predicted, options);
  return options.estimators.map((name) => difference(name, read.log, pairOf(read), of, options.interval));
}

export function domainDifferences(
  read: ReadLog,
  { predicted }: Values,
  estimator: Estimator,
  options: ValueOptions,
): DomainDifference[] {
  const of = estimating(read, predicted, options);
  return [...groupBy(read.of.domain.keys(), (i) => read.of.domain[i]!)]
    .sort(([one, first], [other, second]) => second.length - first.length || (one < other ? -1 : 1))
    .slice(0, mostDomains)
    .map(([domain, own]) => ({
      domain,
      decisions: own.length,
      difference: difference(estimator, read.log, pairOf(read), of, options.interval, Int32Array.from(own)),
    }));
}

const estimating = (
  { feedbackWeight }: ReadLog,
  predicted: Float64Array | undefined,
  { cap, costWeight }: ValueOptions,
): EstimatorOptions => ({ cap, costWeight, predicted, feedbackWeight });

const pairOf = ({ targets }: ReadLog): { target: Float64Array; base: Float64Array } => ({
  target: targets[1]!,
  base: targets[0]!,
});
