// The order of the chosen examples in a prompt. Engines cache the KV of a prompt's prefix, so
// requests that share examples should share prefixes. Pure; O(n log n).
import type { Random } from "../numeric/random.ts";

/** helpfulness in [0, 1]. */
export interface Orderable {
  id: string;
  helpfulness: number;
  similarity: number;
}

/**
 * best_last: the most helpful next to the question. shared_prefix: first a sequence that the engine
 * has cached (live-prefixes.ts), then as best_last. random: uniform over all permutations, to
 * measure what an order costs.
 */
export type ExampleOrder = "best_last" | "shared_prefix" | "random";

/**
 * An order and the probability of drawing it, (0, 1]. kept: examples and order are those of the
 * conversation's turn before, so the request compares neither orders nor thresholds.
 */
export interface DrawnOrder {
  order: ExampleOrder | "kept";
  orderProbability: number;
}

export const bestLast = { order: "best_last", orderProbability: 1 } as const satisfies DrawnOrder;

/**
 * A permutation. Except for `random` it does not depend on the order of `examples`. first: ids that
 * shared_prefix begins with, if they are among the examples.
 */
export function ordered<T extends Orderable>(
  examples: readonly T[],
  order: ExampleOrder,
  random: Random,
  first: readonly string[] = [],
): T[] {
  if (order === "shared_prefix") {
    const place = new Map(first.map((id, i) => [id, i]));
    const placeOf = ({ id }: T): number => place.get(id) ?? first.length;
    return [...examples].sort((a, b) => placeOf(a) - placeOf(b) || leastHelpfulFirst(a, b));
  }
  const sorted = [...examples].sort(leastHelpfulFirst);
  return order === "random" ? shuffled(sorted, random) : sorted;
}

const byId = (a: Orderable, b: Orderable): number => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

const leastHelpfulFirst = (a: Orderable, b: Orderable): number =>
  a.helpfulness - b.helpfulness || a.similarity - b.similarity || byId(b, a);

/** Fisher-Yates shuffle. */
function shuffled<T>(values: T[], random: Random): T[] {
  for (let i = values.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [values[i], values[j]] = [values[j]!, values[i]!];
  }
  return values;
}
