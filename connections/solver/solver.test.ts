import { pino } from "pino";
import { expect, it } from "vitest";
import { knapsack } from "../../algorithms/selection/knapsack.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { createSolver } from "./solver.ts";

const log = pino({ level: "silent" });
const random = splitmix64(7);
const items = Array.from({ length: 3_000 }, () => ({ value: random(), weight: 1 + Math.floor(random() * 1_000) }));
const valueOf = (kept: readonly number[]): number => kept.reduce((sum, index) => sum + items[index]!.value, 0);

it("solves beside the event loop, no worse than greedy, and says how good it is", async () => {
  const found = await createSolver({ limitMs: 300, log }).solve(items, 200_000);
  expect(found.value).toBeGreaterThanOrEqual(valueOf(knapsack(items, 200_000)));
  expect(found.bound).toBeGreaterThanOrEqual(found.value);
  expect(found.bound).toBeLessThan(found.value * 1.001);
  expect(found.kept.reduce((sum, index) => sum + items[index]!.weight, 0)).toBeLessThanOrEqual(200_000);
});

it("chooses greedily where the worker hangs", async () => {
  const worker = new URL("./worker.testing.ts", import.meta.url);
  const found = await createSolver({ limitMs: 1, startMs: 300, log, worker }).solve(items, 200_000);
  expect(found.kept).toEqual(knapsack(items, 200_000));
});

it("refuses numbers that are none", async () => {
  await expect(createSolver({ limitMs: 10, log }).solve([{ value: Number.NaN, weight: 1 }], 1)).rejects.toBeInstanceOf(
    RangeError,
  );
});
