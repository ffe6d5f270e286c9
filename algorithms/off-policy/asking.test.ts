// Feedback that comes where it was asked for: a world whose values are known, estimated with and
// without the logged probability of being asked.
import { describe, expect, it } from "vitest";
import { splitmix64 } from "../numeric/random.ts";
import { termsOf, type Estimator } from "./estimators.ts";
import { feedbackRates, type Asking, type FeedbackCell } from "./feedback-rate.ts";
import { logOf, type LoggedChoices } from "./log.ts";
import { decided } from "./log.testing.ts";
import { ratioOf } from "./ratio.ts";

/**
 * Shares of requests. Feedback is asked for on all requests where the arms are nearly even, and on
 * few of the others.
 */
const share = { even: 0.3, askedElsewhere: 0.05 };
/** Probability of feedback on a decision that was asked about, and on one that was not. */
const answers = { asked: 0.6, unasked: 0.01 };
/** a is worth .5 and b .5 where they are even, else .9 and .3. */
const worth = (even: boolean, arm: number): number => (even ? 0.5 : arm === 0 ? 0.9 : 0.3);
const truth = (arm: number): number => share.even * worth(true, arm) + (1 - share.even) * worth(false, arm);

interface World {
  log: LoggedChoices;
  askProbability: number[];
  asking: Asking[];
}

function world(count: number, seed: number): World {
  const random = splitmix64(seed);
  const [askProbability, asking]: [number[], Asking[]] = [[], []];
  const decisions = Array.from({ length: count }, (_, i) => {
    const even = random() < share.even;
    const logged = even ? [0.5, 0.5] : [0.8, 0.2];
    const chosen = random() < logged[0]! ? 0 : 1;
    const p = even ? 1 : share.askedElsewhere;
    const asked = random() < p;
    const reward = random() < worth(even, chosen) ? 1 : 0;
    askProbability.push(p);
    asking.push(asked ? "asked" : "unasked");
    const heard = random() < (asked ? answers.asked : answers.unasked);
    return decided(logged, chosen, heard ? reward : null, { id: `r${i}` });
  });
  return { log: logOf(decisions, 1), askProbability, asking };
}

function ratesOf({ log, asking }: World) {
  const cells = new Map<string, FeedbackCell>();
  log.chosen.forEach((candidate, i) => {
    const arm = log.arms[log.arm[candidate]!]!;
    const key = `${arm} ${asking[i]!}`;
    const cell = cells.get(key) ?? { arm, length: 0, domain: "", asking: asking[i]!, decisions: 0, rewarded: 0 };
    cell.decisions++;
    if (!Number.isNaN(log.reward[i]!)) cell.rewarded++;
    cells.set(key, cell);
  });
  return feedbackRates([...cells.values()]);
}

const always = ({ log }: World, arm: number) =>
  Float64Array.from(log.arm, (one) => (log.arms[one] === "ab"[arm] ? 1 : 0));
/** 1 / the chance of feedback, where there is some. */
const weightsOf = ({ log, askProbability }: World, heardOf: (askProbability: number, i: number) => number) =>
  Float64Array.from(askProbability, (p, i) => (Number.isNaN(log.reward[i]!) ? 0 : 1 / heardOf(p, i)));

describe("feedback asked for where the arms are even", () => {
  const count = 60_000;
  const made = world(count, 7);
  const rates = ratesOf(made);
  const valueOf = (estimator: Estimator, arm: number, feedbackWeight: Float64Array) => {
    // A model that only knows the mean, so the weights decide.
    const predicted = new Float64Array(made.log.arm.length).fill(0.5);
    const options = { cap: Infinity, costWeight: 0, feedbackWeight, predicted };
    return ratioOf(termsOf(estimator, made.log, always(made, arm), options))!.value;
  };

  it("is known to come where it was asked for", () => {
    expect(rates.selective).toBe(true);
    expect(rates.asking.asked).toBeCloseTo(answers.asked, 1);
    expect(rates.asking.unasked).toBeCloseTo(answers.unasked, 2);
  });

  it.each(["ips", "snips", "dr"] as const)("%s is right with the probability, and wrong without", (estimator) => {
    const corrected = weightsOf(made, (p) => rates.askedRateOf(p));
    const byKind = weightsOf(made, (p, i) =>
      rates.rateOf(made.log.arms[made.log.arm[made.log.chosen[i]!]!]!, 0, "", p),
    );
    const heard = made.log.reward.filter((reward) => !Number.isNaN(reward)).length / count;
    const ignored = weightsOf(made, () => heard);
    for (const arm of [0, 1]) {
      // Some thousand rewards: three standard errors are below .04.
      expect(Math.abs(valueOf(estimator, arm, corrected) - truth(arm))).toBeLessThan(0.04);
      expect(Math.abs(valueOf(estimator, arm, byKind) - truth(arm))).toBeLessThan(0.04);
      expect(Math.abs(valueOf(estimator, arm, ignored) - truth(arm))).toBeGreaterThan(0.08);
    }
  });

  it("over many logs the error of snips is none, and that without the probability stays", () => {
    const errors = Array.from({ length: 60 }, (_, seed) => {
      const one = world(4_000, 100 + seed);
      const known = ratesOf(one);
      const by = (feedbackWeight: Float64Array): number =>
        ratioOf(termsOf("snips", one.log, always(one, 0), { cap: Infinity, costWeight: 0, feedbackWeight }))!.value -
        truth(0);
      return [by(weightsOf(one, (p) => known.askedRateOf(p))), by(weightsOf(one, () => 1))];
    });
    const mean = (k: number): number => errors.reduce((sum, error) => sum + error[k]!, 0) / errors.length;
    expect(Math.abs(mean(0))).toBeLessThan(0.015);
    expect(mean(1)).toBeLessThan(-0.1);
  });
});
