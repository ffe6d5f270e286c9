import { describe, expect, it } from "vitest";
import { normalQuantile } from "../numeric/gaussian.ts";
import { empiricalBernstein, difference, evaluate, type IntervalKind } from "./evaluate.ts";
import { drawKey, poissonWeight } from "./bootstrap.ts";
import { decided, randomLog, workedLog } from "./log.testing.ts";
import { logOf } from "./log.ts";

const plain = { cap: Infinity, costWeight: 0 };
const by = (kind: IntervalKind) => ({ kind, confidence: 0.95, seed: 1 });
const predictedFor = ({ arm }: { arm: Int32Array }): Float64Array => Float64Array.from(arm, (one) => 0.4 + 0.1 * one);

describe("intervals", () => {
  it("normal quantiles are those of the tables", () => {
    expect(normalQuantile(0.975)).toBeCloseTo(1.959963985, 8);
    expect(normalQuantile(0.95)).toBeCloseTo(1.644853627, 8);
    expect(normalQuantile(0.5)).toBeCloseTo(0, 9);
    expect(() => normalQuantile(1)).toThrow(RangeError);
  });

  it("of ips is the sample variance of its terms, of snips the delta method", () => {
    const { log, target } = workedLog();
    const weights = [1.6, 0.4, 2, 2 / 3];
    const rewards = [1, 0, 1, 1];
    const terms = weights.map((weight, i) => weight * rewards[i]!);
    const mean = terms.reduce((sum, term) => sum + term, 0) / 4;
    const error = Math.sqrt(terms.reduce((sum, term) => sum + (term - mean) ** 2, 0) / (4 * 3));
    const ips = evaluate("ips", log, target, plain, by("normal"));
    expect(ips.error).toBeCloseTo(error, 12);
    expect(ips.interval!.high - ips.value!).toBeCloseTo(1.959963985 * error, 7);

    const snips = evaluate("snips", log, target, plain, by("normal"));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const value = terms.reduce((sum, term) => sum + term, 0) / total;
    const squares = weights.reduce((sum, weight, i) => sum + (weight * (rewards[i]! - value)) ** 2, 0);
    expect(snips.error).toBeCloseTo(Math.sqrt((squares / total ** 2) * (4 / 3)), 12);
    expect(snips).toMatchObject({ intervalBy: "delta method" });
  });

  it("empirical Bernstein is the bound of the theorem", () => {
    const terms = Float64Array.from({ length: 100 }, (_, i) => i % 2);
    // sqrt(2 V ln(4 / .05) / n) + 7 ln(4 / .05) / (3 (n - 1)) with V = 25/99.
    const interval = empiricalBernstein(terms, { low: 0, high: 1, confidence: 0.95 })!;
    expect(interval.high - 0.5).toBeCloseTo(0.252048, 5);
    expect(() => empiricalBernstein(terms, { low: 0, high: 0.5, confidence: 0.95 })).toThrow("outside of [0, 0.5]");
  });

  it("Poisson weights have mean and variance 1, and are the same every time", () => {
    const draws = Array.from({ length: 40 }, (_, n) =>
      Array.from({ length: 5_000 }, (_, i) => poissonWeight(drawKey(7, n), i)),
    ).flat();
    const mean = draws.reduce((sum, one) => sum + one, 0) / draws.length;
    const variance = draws.reduce((sum, one) => sum + (one - mean) ** 2, 0) / draws.length;
    expect(mean).toBeCloseTo(1, 1.7);
    expect(variance).toBeCloseTo(1, 1.7);
    expect(poissonWeight(drawKey(7, 3), 11)).toBe(poissonWeight(drawKey(7, 3), 11));
    const zeros = draws.filter((one) => one === 0).length / draws.length;
    expect(zeros).toBeCloseTo(Math.exp(-1), 1.7);
  });

  it("by bootstrap agrees with the normal one on many decisions", () => {
    const { log, target } = randomLog(3, 3_000, 3);
    for (const name of ["ips", "snips", "dr"] as const) {
      const options = { ...plain, predicted: predictedFor(log) };
      const normal = evaluate(name, log, target, options, by("normal")).interval!;
      const drawn = evaluate(name, log, target, options, by("bootstrap")).interval!;
      const width = normal.high - normal.low;
      // The ends of 1,000 draws scatter by about .03 of the width.
      expect(Math.abs(drawn.low - normal.low) / width).toBeLessThan(0.12);
      expect(Math.abs(drawn.high - normal.high) / width).toBeLessThan(0.12);
    }
  });

  it("are none where a few equal rewards would make a value certain; policies that choose alike differ by 0", () => {
    const log = logOf(
      [0.9, 0.6, 0.3].map((share) => decided([share, 1 - share], 0, 1)),
      1,
    );
    const [always, never] = [Float64Array.of(1, 0, 1, 0, 1, 0), Float64Array.of(0, 1, 0, 1, 0, 1)];
    for (const kind of ["normal", "bootstrap"] as const) {
      const none = {
        value: 1,
        error: null,
        interval: null,
        intervalBy: expect.stringContaining("all terms are equal"),
      };
      expect(evaluate("snips", log, always, plain, by(kind))).toMatchObject(none);
      expect(evaluate("ips", log, never, plain, by(kind))).toMatchObject({ ...none, value: 0 });
    }
    const alike = difference("ips", log, { target: always, base: always }, plain, by("normal"));
    expect(alike).toMatchObject({ value: 0, interval: { low: 0, high: 0 } });
    expect(evaluate("ips", log, always, plain, by("normal")).interval).not.toBeNull();
    const even = logOf(
      [1, 2, 3, 4].map(() => decided([0.5, 0.5], 0, 1)),
      1,
    );
    const [all, half] = [Float64Array.of(1, 0, 1, 0, 1, 0, 1, 0), new Float64Array(8).fill(0.5)];
    expect(difference("ips", even, { target: all, base: half }, plain, by("normal"))).toMatchObject({
      ...{ value: 1, interval: null },
    });
    expect(evaluate("ips", even, all, { ...plain, cap: 2 }, by("bernstein")).interval).not.toBeNull();
  });

  it("say why there is none", () => {
    const { log, target } = randomLog(3, 50);
    const options = { ...plain, cap: 10, predicted: predictedFor(log) };
    expect(evaluate("dm", log, target, options, by("normal"))).toMatchObject({ interval: null, error: null });
    expect(evaluate("snips", log, target, options, by("bernstein"))).toMatchObject({
      interval: null,
      intervalBy: expect.stringContaining("not snips"),
    });
    expect(evaluate("dr", log, target, options, by("bernstein")).interval).not.toBeNull();
    const never = evaluate("snips", log, new Float64Array(target.length), options, by("normal"));
    expect(never).toMatchObject({ value: null, interval: null });
  });
});

describe("a difference", () => {
  it("of a policy to itself is 0, surely", () => {
    const { log, target } = randomLog(5, 200);
    for (const kind of ["normal", "bootstrap"] as const)
      expect(difference("snips", log, { target, base: target }, plain, by(kind))).toMatchObject({
        value: 0,
        interval: { low: 0, high: 0 },
      });
  });

  it("is paired: narrower than the two intervals together, where the policies are alike", () => {
    const { log, target } = randomLog(5, 2_000);
    const base = target.map((probability, k) => probability + (k % 2 === 0 ? 0.01 : -0.01));
    const options = { ...plain, predicted: predictedFor(log) };
    for (const name of ["ips", "snips", "dr"] as const) {
      const both = [target, base].map((one) => evaluate(name, log, one, options, by("normal")));
      const paired = difference(name, log, { target, base }, options, by("normal"));
      expect(paired.value).toBeCloseTo(both[0]!.value! - both[1]!.value!, 12);
      expect(paired.error!).toBeLessThan(both[0]!.error! / 5);
      const drawn = difference(name, log, { target, base }, options, by("bootstrap")).interval!;
      expect(drawn.high - drawn.low).toBeLessThan((both[0]!.interval!.high - both[0]!.interval!.low) / 5);
    }
  });
});
