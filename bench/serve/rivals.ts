// What a user could do without the router. Thresholds and the choice by domain are the best in
// hindsight: they know every answer. Pure.
import { always, type Choices, expected } from "../ladder/replay.ts";
import { fitLogistic } from "../routing/logistic.ts";
import { mean } from "../support/statistics.ts";
import { type Served, taking } from "./rounds.ts";

/** Indices of arms in a round. */
const [smallWith, smallWithout, large, reuse] = [0, 1, 2, 3];
const folds = 5;

export interface Rival {
  choices: Choices;
  /** The best in hindsight, where there is one. */
  threshold?: number;
}

/**
 * values: quality less price by request and arm; offloaded: the router's share of arms other than
 * the large one.
 */
export function rivalsAt(
  rounds: readonly Served[],
  values: readonly number[][],
  offloaded: number,
): Record<string, Rival> {
  const worth = ({ choices }: Rival): number => mean(expected(choices, values));
  const bestOf = (rivals: readonly Rival[]): Rival => rivals.toSorted((a, b) => worth(b) - worth(a))[0]!;
  // Above the highest one nothing is taken.
  const thresholds = [...new Set([...rounds.flatMap(({ similarity }) => similarity ?? []), 2])];
  const above = (arm: number): Rival =>
    bestOf(
      thresholds.map((threshold) => ({
        choices: taking(rounds, ({ similarity }) => ((similarity ?? -1) >= threshold ? arm : large)),
        threshold,
      })),
    );
  return {
    "small-with": { choices: always(rounds, smallWith) },
    "small-without": { choices: always(rounds, smallWithout) },
    "large-without": { choices: always(rounds, large) },
    reuse: { choices: always(rounds, reuse) },
    coin: { choices: rounds.map(() => [offloaded, 0, 1 - offloaded, 0]) },
    threshold_reuse: above(reuse),
    threshold_small: above(smallWith),
    by_domain: { choices: byDomain(rounds, values) },
    logistic: { choices: byLogistic(rounds, values) },
  };
}

/** The model arm with the most worth in each domain. */
function byDomain(rounds: readonly Served[], values: readonly number[][]): Choices {
  const best = new Map<string, number>();
  for (const { domain } of rounds) {
    const own = values.filter((_, i) => rounds[i]!.domain === domain);
    const means = [smallWith, smallWithout, large].map((arm) => mean(own.map((row) => row[arm]!)));
    best.set(domain, means.indexOf(Math.max(...means)));
  }
  return taking(rounds, ({ domain }) => best.get(domain)!);
}

/** RouteLLM's kind: is the small arm worth more? Each fold by the labels of the others. */
function byLogistic(rounds: readonly Served[], values: readonly number[][]): Choices {
  const gains = values.map((row) => row[smallWith]! - row[large]!);
  const models = Array.from({ length: folds }, (_, fold) => {
    const rows = gains.flatMap((gain, i) => (i % folds !== fold && gain !== 0 ? [i] : []));
    return fitLogistic(
      rows.map((i) => rounds[i]!.contexts[smallWith]!),
      rows.map((i) => (gains[i]! > 0 ? 1 : 0)),
    );
  });
  return taking(rounds, ({ contexts }, i) => (models[i % folds]!(contexts[smallWith]!) > 0 ? smallWith : large));
}
