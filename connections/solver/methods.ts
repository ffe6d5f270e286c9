// What the solver's worker can do.
import type { AnytimeChoice } from "../../algorithms/selection/anytime-knapsack.ts";

export interface SolverMethods {
  /** values and weights of the items, in their order. */
  knapsack(call: { values: Float64Array; weights: Float64Array; capacity: number; limitMs: number }): AnytimeChoice;
}
