import { expect, test } from "vitest";
import { clusteredVectors, dimension, row } from "./data.ts";
import { recall } from "./peers.ts";

const some = (n: number, count: number, seed: number): Float32Array[] => {
  const next = clusteredVectors(n, seed);
  const rows = new Float32Array(count * dimension);
  for (let at = 0; at < rows.length; at += dimension) next(rows, at);
  return Array.from({ length: count }, (_, i) => row(rows, i));
};
const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, i) => sum + value * b[i]!, 0);

test("generated vectors are of unit length and the same from the same seed", () => {
  const vectors = some(1_000, 50, 1);
  for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
  expect(some(1_000, 50, 1)).toEqual(vectors);
  expect(some(1_000, 50, 2)).not.toEqual(vectors);
});

test("they lie in topics: the nearest is far nearer than the rest", () => {
  const vectors = some(2_000, 2_000, 1);
  const similarities = vectors.slice(0, 20).map((one) => {
    const all = vectors.map((other) => dot(one, other)).sort((a, b) => b - a);
    return { nearest: all[1]!, middle: all[1_000]! };
  });
  for (const { nearest, middle } of similarities) expect(nearest).toBeGreaterThan(middle + 0.2);
});

test("recall is the share of the true keys that were found", () => {
  const truth = [Uint32Array.of(1, 2), Uint32Array.of(3, 4)];
  expect(recall(truth, [Uint32Array.of(2, 1), Uint32Array.of(4, 9)])).toBe(0.75);
  expect(recall(truth, [Uint32Array.of(), Uint32Array.of(7, 8)])).toBe(0);
});
