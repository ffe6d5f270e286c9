import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimators, termBounds, termsOf, type Estimator } from "./estimators.ts";
import { logOf } from "./log.ts";
import { decided, randomLog, workedLog } from "./log.testing.ts";
import { ratioOf } from "./ratio.ts";
import { importanceWeights, supportOf } from "./weights.ts";

const plain = { cap: Infinity, costWeight: 0 };
type Options = Parameters<typeof termsOf>[3];
const valueOf = (
  estimator: Estimator,
  { log, target }: ReturnType<typeof randomLog>,
  options: Partial<Options> = {},
): number => ratioOf(termsOf(estimator, log, target, { ...plain, ...options }))!.value;

describe("estimates worked by hand", () => {
  const worked = workedLog();
  const predicted = Float64Array.of(0.9, 0.3, 0.9, 0.3, 0.6, 0.4, 0.6, 0.4);
  it.each<[Estimator, Partial<Options>, number]>([
    ["ips", {}, (1.6 + 0 + 2 + 2 / 3) / 4],
    ["ips", { cap: 1.5 }, (1.5 + 0 + 1.5 + 2 / 3) / 4],
    ["snips", {}, (1.6 + 2 + 2 / 3) / (1.6 + 0.4 + 2 + 2 / 3)],
    // .8 * .9 + .2 * .3 = .78 twice, .5 * .6 + .5 * .4 = .5 twice.
    ["dm", {}, (0.78 + 0.78 + 0.5 + 0.5) / 4],
    ["dr", {}, (0.78 + 1.6 * 0.1 + (0.78 - 0.4 * 0.3) + (0.5 + 2 * 0.4) + (0.5 + (2 / 3) * 0.6)) / 4],
    ["dr", { cap: 1.5 }, (0.78 + 1.5 * 0.1 + (0.78 - 0.4 * 0.3) + (0.5 + 1.5 * 0.4) + (0.5 + (2 / 3) * 0.6)) / 4],
    ["switch-dr", { cap: 1.5 }, (0.78 + (0.78 - 0.4 * 0.3) + 0.5 + (0.5 + (2 / 3) * 0.6)) / 4],
    // Only the last decision costs anything: .5 of a full unit where b was chosen, .1 and .5 in dm.
    ["ips", { costWeight: 0.2 }, (1.6 + 0 + 2 + (2 / 3) * (1 - 0.1)) / 4],
    ["dm", { costWeight: 0.2 }, (0.78 + 0.78 + 0.5 + 0.5 - 0.2 * (0.5 * 0.1 + 0.5 * 0.5)) / 4],
  ])("%s with %j", (estimator, options, expected) => {
    expect(valueOf(estimator, worked, { predicted, ...options })).toBeCloseTo(expected, 12);
  });

  it("support: effective sample size, largest weight, what the log never shows", () => {
    const { log, target } = worked;
    const support = supportOf(log, target, importanceWeights(log, target), 1.8);
    const sum = 1.6 + 0.4 + 2 + 2 / 3;
    expect(support.effective).toBeCloseTo(sum ** 2 / (1.6 ** 2 + 0.4 ** 2 + 2 ** 2 + (2 / 3) ** 2), 12);
    expect(support).toMatchObject({ decisions: 4, largestWeight: 2, clipped: 0.25, unsupported: 0 });
    // One decision whose second arm had no chance, and one whose target wants an arm not allowed.
    const narrow = logOf([decided([1, 0], 0, 1), decided([1], 0, 1)], 1);
    const wanted = Float64Array.of(0.75, 0.25, 0);
    expect(supportOf(narrow, wanted, importanceWeights(narrow, wanted), 10).unsupported).toBeCloseTo(0.625, 12);
  });

  it("feedback that is missing counts through its inverse probability", () => {
    const log = logOf([decided([0.5, 0.5], 0, 1), decided([0.5, 0.5], 0, null), decided([0.5, 0.5], 1, 0.5)], 1);
    const target = Float64Array.of(0.8, 0.2, 0.8, 0.2, 0.8, 0.2);
    const feedbackWeight = Float64Array.of(2, 0, 1);
    const missing = { log, target };
    expect(valueOf("ips", missing, { feedbackWeight })).toBeCloseTo((2 * 1.6 + 0.4 * 0.5) / 3, 12);
    expect(valueOf("snips", missing, { feedbackWeight })).toBeCloseTo((3.2 + 0.2) / (3.2 + 0.4), 12);
    const predicted = new Float64Array(6).fill(0.5);
    // Decisions without feedback still contribute the model's prediction.
    expect(valueOf("dr", missing, { feedbackWeight, predicted })).toBeCloseTo(0.5 + (3.2 * 0.5) / 3, 12);
    expect(() => valueOf("ips", missing)).toThrow("decision 1 has no reward");
    expect(() => valueOf("dr", missing, { feedbackWeight })).toThrow("dr needs predictions");
  });
});

describe("estimators", () => {
  const logs = fc.tuple(fc.nat(1e6), fc.integer({ min: 2, max: 60 }), fc.integer({ min: 2, max: 5 }));

  it("of the policy that was logged are the mean reward, with a full sample", () => {
    fc.assert(
      fc.property(logs, ([seed, count, arms]) => {
        const { log } = randomLog(seed, count, arms);
        const mean = log.reward.reduce((sum, one) => sum + one, 0) / count;
        const own = { log, target: log.logged };
        expect(valueOf("ips", own)).toBeCloseTo(mean, 10);
        expect(valueOf("snips", own)).toBeCloseTo(mean, 10);
        const weights = importanceWeights(log, log.logged);
        expect(supportOf(log, log.logged, weights, 10).effective).toBeCloseTo(count, 8);
      }),
      { numRuns: 50 },
    );
  });

  it("meet at the ends: dr without a model is ips, with the truth dm, and switch-dr lies between", () => {
    fc.assert(
      fc.property(logs, ([seed, count, arms]) => {
        const some = randomLog(seed, count, arms);
        const nothing = new Float64Array(some.log.arm.length);
        expect(valueOf("dr", some, { predicted: nothing })).toBeCloseTo(valueOf("ips", some), 10);
        const truth = nothing.slice();
        some.log.chosen.forEach((candidate, i) => (truth[candidate] = some.log.reward[i]!));
        expect(valueOf("dr", some, { predicted: truth })).toBeCloseTo(valueOf("dm", some, { predicted: truth }), 10);
        const predicted = nothing.map((_, i) => (i % 7) / 7);
        const at = (cap: number): number => valueOf("switch-dr", some, { predicted, cap });
        expect(at(Infinity)).toBeCloseTo(valueOf("dr", some, { predicted }), 10);
        expect(at(0)).toBeCloseTo(valueOf("dm", some, { predicted }), 10);
      }),
      { numRuns: 50 },
    );
  });

  it("ips and dr are unbiased: over every choice that could have been logged, whatever the model", () => {
    const share = fc.double({ min: 0.05, max: 0.95, noNaN: true });
    const reward = fc.double({ min: 0, max: 1, noNaN: true });
    const both = fc.tuple(share, share, reward, reward, reward, reward);
    fc.assert(
      fc.property(fc.array(both, { minLength: 1, maxLength: 5 }), (situations) => {
        let expected = 0;
        const means = { ips: 0, dr: 0 };
        for (const [, wanted, rewardA, rewardB] of situations)
          expected += (wanted * rewardA + (1 - wanted) * rewardB) / situations.length;
        for (let choices = 0; choices < 2 ** situations.length; choices++) {
          const chosenOf = (i: number): number => (choices >> i) & 1;
          const chance = situations.reduce((all, [logged], i) => all * (chosenOf(i) === 0 ? logged : 1 - logged), 1);
          const log = logOf(
            situations.map(([logged, , ...rewards], i) =>
              decided([logged, 1 - logged], chosenOf(i), rewards[chosenOf(i)]!),
            ),
            1,
          );
          const target = Float64Array.from(situations.flatMap(([, wanted]) => [wanted, 1 - wanted]));
          const predicted = Float64Array.from(situations.flatMap(([, , , , one, other]) => [one, other]));
          for (const name of ["ips", "dr"] as const)
            means[name] += chance * valueOf(name, { log, target }, { predicted });
        }
        expect(means.ips).toBeCloseTo(expected, 9);
        expect(means.dr).toBeCloseTo(expected, 9);
      }),
      { numRuns: 50 },
    );
  });

  it("have terms within the bounds that they state", () => {
    fc.assert(
      fc.property(
        logs,
        fc.constantFrom(...estimators),
        fc.double({ min: 0.5, max: 20, noNaN: true }),
        (of, name, cap) => {
          const { log, target } = randomLog(...of);
          const predicted = Float64Array.from(log.arm, (_, i) => (i % 5) / 4);
          const options = { cap, costWeight: 0.3, predicted };
          const bounds = termBounds(name, options);
          if (bounds === null) {
            expect(name).toBe("snips");
            return;
          }
          for (const term of termsOf(name, log, target, options).numerator) {
            expect(term).toBeGreaterThanOrEqual(bounds.low - 1e-12);
            expect(term).toBeLessThanOrEqual(bounds.high + 1e-12);
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});

it("a log refuses what is none", () => {
  expect(() => logOf([decided([0, 1], 0, 1, { id: "q" })], 1)).toThrow(
    "request q: the chosen arm has the probability 0",
  );
  expect(() => logOf([decided([1], 0, 2)], 1)).toThrow("a reward of 2");
  expect(() => logOf([decided([1], 0, 1)], 3)).toThrow("a context of 1 numbers, not 3");
});
