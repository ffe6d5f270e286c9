// Solves knapsacks in a worker thread that lives as long as the problem: there is one now and then,
// when something has outgrown its budget. A worker that does not start or does not end in time
// costs the improvement on the greedy choice, nothing else.
import type { Logger } from "pino";
import { knapsack, type KnapsackItem } from "../../algorithms/selection/knapsack.ts";
import { connectWorker } from "../worker/rpc.ts";
import type { SolverMethods } from "./methods.ts";
import type { Solver } from "./port.ts";

export interface SolverOptions {
  /** Milliseconds in which the choice is improved. */
  limitMs: number;
  log: Pick<Logger, "warn">;
  /** Milliseconds for the worker to start and to answer, beyond the limit. */
  startMs?: number;
  /** Another worker module, for tests. */
  worker?: URL;
}

export function createSolver({ limitMs, log, startMs = 30_000, worker }: SolverOptions): Solver {
  const entry = worker ?? new URL("./worker.ts", import.meta.url);
  return {
    async solve(items, capacity) {
      const began = performance.now();
      const client = connectWorker<SolverMethods>({ name: "solver", entry, data: null });
      const timer = setTimeout(() => client.kill("it took too long"), startMs + limitMs);
      try {
        const values = Float64Array.from(items, ({ value }) => value);
        const weights = Float64Array.from(items, ({ weight }) => weight);
        const { kept, value, bound } = await client.call("knapsack", { values, weights, capacity, limitMs });
        return { kept, value, bound, ms: performance.now() - began };
      } catch (error) {
        // Bad numbers are the caller's and are refused here as there.
        const choice = greedy(items, capacity);
        log.warn({ err: error }, "the solver's worker failed: what is kept was chosen greedily");
        return { ...choice, ms: performance.now() - began };
      } finally {
        clearTimeout(timer);
        await client.close(1_000);
      }
    },
  };
}

function greedy(items: readonly KnapsackItem[], capacity: number): { kept: number[]; value: number; bound: number } {
  const kept = knapsack(items, capacity);
  const value = kept.reduce((sum, index) => sum + items[index]!.value, 0);
  return { kept, value, bound: items.reduce((sum, item) => sum + item.value, 0) };
}
