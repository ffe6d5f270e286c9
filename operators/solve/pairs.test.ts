import { describe, expect, it } from "vitest";
import { constantPrior, predict, priorPosterior } from "../../algorithms/routing/bandit.ts";
import type { ArmPosterior } from "../../state/policies/router.ts";
import type { Pair } from "../learnt.ts";
import { addPairs } from "./pairs.ts";

const unknown = priorPosterior(constantPrior(2, 0.5, 0.25, 0.1));
const arms = new Map<string, ArmPosterior>([
  ["large", { model: "l", count: 3, ...unknown }],
  ["small", { model: "s", count: 2, ...unknown }],
]);
const pair = (more: Partial<Pair> = {}): Pair => ({
  ...{
    first: "small",
    firstModel: "s",
    firstContext: [1, 0],
    second: "large",
    secondModel: "l",
    secondContext: [1, 0],
  },
  ...{ outcome: 1, weight: 1, hour: 36_000, at: 7, ...more },
});
const options = { unknown, halfLifeHours: 2, newestHour: 36_000 };
const worth = (arm: ArmPosterior | undefined): number => predict(arm!, [1, 0]).mean;

describe("comparisons of arms", () => {
  it("move the preferred arm ahead, and count for both", () => {
    const { arms: next, used, newestAt } = addPairs(arms, [pair(), pair({ at: 5 })], options);
    expect(worth(next.get("small"))).toBeGreaterThan(worth(next.get("large")));
    expect([next.get("small")?.count, next.get("large")?.count, used, newestAt]).toEqual([4, 5, 2, 7]);
    expect([...next.keys()]).toEqual(["large", "small"]);
  });

  it("of another model than the arm has now, or none at all, change nothing", () => {
    expect(addPairs(arms, [pair({ secondModel: "older" })], options)).toEqual({
      arms,
      used: 0,
      newestAt: null,
      slope: null,
    });
    expect(addPairs(arms, [], options)).toEqual({ arms, used: 0, newestAt: null, slope: null });
  });

  it("count half after the half-life of rewards, and no more than once when they are newer", () => {
    const count = (hour: number): number | undefined =>
      addPairs(arms, [pair({ hour })], options).arms.get("small")?.count;
    expect(count(36_000 - 2 * 3_600)).toBe(2.5);
    expect(count(36_000 + 3_600)).toBe(3);
    const alone = addPairs(new Map(), [pair(), pair({ hour: 36_000 - 2 * 3_600 })], { ...options, newestHour: null });
    expect(alone.arms.get("small")?.count).toBe(1.5);
  });

  it("make an arm known that no reward knows, under the model of its newest comparison", () => {
    const rows = [pair({ second: "new", secondModel: "n2", at: 9 }), pair({ second: "new", secondModel: "n1", at: 8 })];
    const { arms: next, used } = addPairs(arms, rows, options);
    expect(next.get("new")).toMatchObject({ model: "n2", count: 1 });
    expect(worth(next.get("new"))).toBeLessThan(0.5);
    expect(used).toBe(1);
  });
});
