import { expect, it } from "vitest";
import { compareLogits, logProbabilities } from "./teacher-forced.ts";

it("is zero for the same distribution, whatever is added to all logits", () => {
  expect(compareLogits(Float32Array.of(1, 2, 3), Float32Array.of(11, 12, 13), 3)).toEqual({ kl: 0, agreement: 1 });
});

it("is the mean over positions of the divergence from the reference", () => {
  // p = (1/2, 1/2), q = (1/4, 3/4): ln 2 / 2 + ln(2/3) / 2 ... twice the same row and once equal
  // ones.
  const p = [0, 0];
  const q = [0, Math.log(3)];
  const divergence = 0.5 * Math.log(2) + 0.5 * Math.log(2 / 3);
  const found = compareLogits(Float32Array.from([...p, ...p, ...p]), Float32Array.from([...q, ...q, ...p]), 2);
  expect(found.kl).toBeCloseTo((2 / 3) * divergence, 6);
  expect(found.agreement).toBeCloseTo(1 / 3, 12);
});

it("refuses shapes that don't fit", () => {
  expect(() => compareLogits(Float32Array.of(1, 2, 3), Float32Array.of(1, 2, 3), 2)).toThrow(RangeError);
  expect(() => compareLogits(Float32Array.of(), Float32Array.of(), 2)).toThrow(RangeError);
  expect(() => compareLogits(Float32Array.of(1, 2), Float32Array.of(1, 2, 3, 4), 2)).toThrow(RangeError);
});

it("gives the log-probability of each token of an answer", () => {
  const logits = Float32Array.from([0, Math.log(3), 5, 5]);
  const found = logProbabilities(logits, [1, 0]);
  expect(found[0]).toBeCloseTo(Math.log(0.75), 6);
  expect(found[1]).toBeCloseTo(Math.log(0.5), 6);
  expect(logProbabilities(new Float32Array(0), [])).toEqual([]);
  expect(() => logProbabilities(logits, [0, 1, 0])).toThrow(RangeError);
});
