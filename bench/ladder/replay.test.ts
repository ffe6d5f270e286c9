import { expect, it } from "vitest";
import { FEATURE_COUNT, FEATURE_NAMES } from "../../algorithms/routing/features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { mean } from "../support/statistics.ts";
import {
  always,
  armsOf,
  atRandom,
  expected,
  oracle,
  replayCold,
  replayWarm,
  type Round,
  valuesOf,
  wins,
  withCosts,
} from "./replay.ts";

/** The cheap arm is as good where one feature is 1, and useless where it is -1. */
function world(count: number): Round[] {
  const random = splitmix64(5);
  return Array.from({ length: count }, () => {
    const easy = random() < 0.5;
    const context = Array.from({ length: FEATURE_COUNT }, (_, i) => (i === 0 ? 1 : i === 5 ? (easy ? 1 : -1) : 0));
    return { contexts: [context, context], quality: [easy ? 0.9 : 0.1, 0.9], cpu: [1, 4] };
  });
}

it("routes each request to the arm that is worth its cost, cold and, earlier, warm", () => {
  const rounds = world(80);
  const arms = armsOf(["small", "large"], rounds);
  expect(arms).toEqual([
    { name: "small", cost: 0.25 },
    { name: "large", cost: 1 },
  ]);
  const given = withCosts(rounds, arms);
  expect(given[0]!.contexts.map((context) => context[FEATURE_NAMES.indexOf("armCost")])).toEqual([0.25, 1]);
  const values = valuesOf(rounds, 0.3, 4);
  const worth = (choices: number[][]): number => mean(expected(choices, values));
  const constant = Math.max(worth(always(rounds, 0)), worth(always(rounds, 1)));
  const cold = worth(replayCold(given, arms, 0.3, { orders: 2, every: 10 }));
  const warm = worth(replayWarm(given, arms, 0.3, 10));
  const best = worth(oracle(values));
  expect(worth(atRandom(rounds))).toBeLessThan(cold);
  expect(warm).toBeGreaterThan(constant);
  expect(warm).toBeGreaterThan(cold);
  expect(warm).toBeLessThanOrEqual(best);
  expect(best).toBeCloseTo(0.9 - 0.3 * mean(rounds.map(({ quality }) => (quality[0] === 0.9 ? 0.25 : 1))), 12);
});

it("counts pairs won, ties half", () => {
  const rounds = world(40);
  const easy = mean(rounds.map(({ quality }) => (quality[0] === 0.9 ? 1 : 0)));
  expect(mean(expected(always(rounds, 0), wins(rounds, 1)))).toBeCloseTo(easy / 2, 12);
  expect(mean(expected(always(rounds, 1), wins(rounds, 1)))).toBe(0.5);
});
