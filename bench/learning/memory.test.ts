import { expect, it } from "vitest";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { learnInMemory, outcomeOf, regretCurve, savedShare, type Round } from "./memory.ts";

const arms = [
  { name: "small", cost: 0 },
  { name: "large", cost: 1 },
];
const options = { arms, costWeight: 0.3, prior: { mean: 0.5, variance: 0.25, noise: 0.1 }, indifference: 0 };

/** The small arm is as good as the large one exactly where the second feature is positive. */
function world(count: number): Round[] {
  const random = splitmix64(3);
  return Array.from({ length: count }, () => {
    const sign = random() < 0.5 ? 1 : -1;
    return {
      contexts: [
        [1, sign],
        [1, sign],
      ],
      rewards: [sign > 0 ? 0.9 : 0.1, 0.9],
    };
  });
}

it("learns which arm is worth its cost where, and so beats every fixed mix", () => {
  const rounds = world(400);
  const chosen = learnInMemory(rounds, { ...options, random: splitmix64(1) });
  const late = outcomeOf(rounds.slice(200), chosen.slice(200), options);
  expect(late.reward).toBeGreaterThan(0.85);
  expect(late.largeShare).toBeCloseTo(0.5, 1);
  expect(savedShare(late.reward, late.largeShare, 0.5, 0.9)).toBeGreaterThan(0.3);
});

it("counts what choices came to", () => {
  const rounds = world(4);
  const best = rounds.map(({ contexts }) => (contexts[0]?.[1] === 1 ? 0 : 1));
  expect(outcomeOf(rounds, best, options).regret).toBeCloseTo(0, 12);
  const large = outcomeOf(rounds, [1, 1, 1, 1], options);
  expect(large).toMatchObject({ reward: 0.9, cost: 1, largeShare: 1 });
  const curve = regretCurve(rounds, [1, 1, 1, 1], options, 2);
  expect(curve.map(([requests]) => requests)).toEqual([2, 4]);
  expect(curve[1]?.[1]).toBeCloseTo(large.regret, 12);
});

it("measures savings against a random mix of the same reward", () => {
  expect(savedShare(0.75, 0.25, 0.5, 1)).toBe(0.5);
  expect(savedShare(0.75, 0.5, 0.5, 1)).toBe(0);
  expect(savedShare(0.75, 0.6, 0.5, 1)).toBeLessThan(0);
  expect(savedShare(0.5, 0.1, 0.5, 0.5)).toBeNull();
  expect(savedShare(0.4, 0.1, 0.5, 1)).toBeNull();
});
