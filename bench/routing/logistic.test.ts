import { expect, it } from "vitest";
import { normal, splitmix64 } from "../../algorithms/numeric/random.ts";
import { fitLogistic } from "./logistic.ts";

it("finds the weights that made the labels, and ignores a feature that never varies", () => {
  const random = splitmix64(1);
  const rows = Array.from({ length: 4_000 }, () => [7, normal(random), 3 * normal(random)]);
  const truth = (row: readonly number[]): number => 0.5 + row[1]! - 0.5 * row[2]!;
  const labels = rows.map((row) => (random() < 1 / (1 + Math.exp(-truth(row))) ? 1 : 0));
  const fitted = fitLogistic(rows, labels);
  for (const row of [
    [7, 0, 0],
    [7, 1, 0],
    [7, 0, 2],
  ])
    expect(Math.abs(fitted(row) - truth(row))).toBeLessThan(0.2);
});

it("stays finite where the labels are separable or all the same", () => {
  expect(Number.isFinite(fitLogistic([[1], [2], [3]], [0, 0, 1])([9]))).toBe(true);
  expect(fitLogistic([[1], [2]], [1, 1])([1])).toBeGreaterThan(3);
});
