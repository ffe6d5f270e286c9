// The solver's worker: a pure function and the clock that ends it.
import { anytimeKnapsack } from "../../algorithms/selection/anytime-knapsack.ts";
import { serveCalls } from "../worker/rpc.ts";
import type { SolverMethods } from "./methods.ts";

serveCalls<SolverMethods>({
  knapsack({ values, weights, capacity, limitMs }) {
    const end = performance.now() + limitMs;
    const items = Array.from(values, (value, index) => ({ value, weight: weights[index]! }));
    return anytimeKnapsack(items, capacity, () => performance.now() < end);
  },
});
