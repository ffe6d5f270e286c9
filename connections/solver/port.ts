// Knapsacks solved beside the event loop, within a time limit: the best choice found by then, and
// how far it may be from the best there is.
import type { KnapsackItem } from "../../algorithms/selection/knapsack.ts";

export interface Solved {
  /** Indexes of the items to keep, ascending. */
  kept: number[];
  value: number;
  /** No choice is worth more. */
  bound: number;
  /** Milliseconds that it took, the start of the worker included. */
  ms: number;
}

export interface Solver {
  /**
   * Without a worker the greedy choice, made in place. Rejects with RangeError for NaN and negative
   * numbers.
   */
  solve(items: readonly KnapsackItem[], capacity: number): Promise<Solved>;
}
