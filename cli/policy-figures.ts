// The figures that a condition of `precedent policy promote --if` may name.
import type { Figures } from "../algorithms/off-policy/condition.ts";
import type { Estimator } from "../algorithms/off-policy/estimators.ts";
import type { Estimate } from "../algorithms/off-policy/evaluate.ts";
import type { PolicyValue } from "../analysis/off-policy/values.ts";

/** values: of what is in force, and of the candidate; all figures are those of one estimator. */
export function figuresOf(
  values: readonly PolicyValue[],
  differences: readonly Estimate[],
  by: Estimator,
): Map<string, number | null> {
  const figures = new Map<string, number | null>();
  const add = (name: string, estimate: Estimate | undefined): void => {
    figures.set(name, estimate?.value ?? null);
    figures.set(`lower(${name})`, estimate?.interval?.low ?? null);
    figures.set(`upper(${name})`, estimate?.interval?.high ?? null);
  };
  const of = (estimates: readonly Estimate[] | undefined): Estimate | undefined =>
    estimates?.find(({ estimator }) => estimator === by);
  add("difference", of(differences));
  for (const [i, name] of ["current", "candidate"].entries()) {
    const support = values[i]?.support;
    add(name, of(values[i]?.estimates));
    figures.set(`effective(${name})`, support?.effective ?? null);
    figures.set(`unsupported(${name})`, support?.unsupported ?? null);
    figures.set(`largest_weight(${name})`, support?.largestWeight ?? null);
  }
  figures.set("decisions", values[0]?.support.decisions ?? null);
  return figures;
}

/** Every figure there is, none of them known: to see whether a condition is well-formed. */
export const noFigures = (): Figures => figuresOf([], [], "dr");
