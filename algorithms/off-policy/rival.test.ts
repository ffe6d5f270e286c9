import { describe, expect, it } from "vitest";
import { splitmix64 } from "../numeric/random.ts";
import { rivalOf, verdictOf, type RivalSums } from "./rival.ts";

interface Logged {
  weight: number;
  heard: number;
  reward: number;
}

function sumsOf(rows: readonly Logged[]): RivalSums {
  const sum = (of: (row: Logged) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const powers = (of: (row: Logged) => number) =>
    [sum(of), sum((row) => of(row) * row.reward), sum((row) => of(row) * row.reward ** 2)] as const;
  return {
    weight: sum(({ weight }) => weight),
    weightReward: sum(({ weight, reward }) => weight * reward),
    squares: powers(({ weight }) => weight ** 2),
    heard: sum(({ heard }) => heard),
    heardReward: sum(({ heard, reward }) => heard * reward),
    heardSquares: powers(({ heard }) => heard ** 2),
    both: powers(({ weight, heard }) => weight * heard),
  };
}

describe("a rival that always takes one arm", () => {
  it("is the same policy where that arm was always chosen: no difference, no interval, no verdict", () => {
    const rows = [0, 1, 0.5, 1].map((reward) => ({ weight: 1, heard: 1, reward }));
    const rival = rivalOf(sumsOf(rows), 1);
    expect(rival?.logged).toBeCloseTo(0.625);
    expect([rival?.difference, rival?.reach]).toEqual([0, expect.closeTo(0, 9)]);
    expect(verdictOf(rival!, 1_000)).toBe("unclear");
  });

  it("is none where the arm was never chosen, or nothing is rated", () => {
    expect(rivalOf(sumsOf([]), 1)).toBeNull();
    expect(rivalOf(sumsOf([{ weight: 0, heard: 1, reward: 1 }]), 1)).toBeNull();
  });

  it("differs by what it would have earned, within the interval as often as that says", () => {
    const random = splitmix64(7);
    const truth = 0.5 * 0.8 + 0.5 * 0.3 - 0.8;
    let covered = 0;
    const worlds = 400;
    for (let world = 0; world < worlds; world++) {
      const rows = Array.from({ length: 300 }, () => {
        const isGood = random() < 0.5;
        return { weight: isGood ? 2 : 0, heard: 1, reward: random() < (isGood ? 0.8 : 0.3) ? 1 : 0 };
      });
      const rival = rivalOf(sumsOf(rows), 1)!;
      if (Math.abs(rival.difference - truth) <= rival.reach) covered++;
      if (world === 0) expect([verdictOf(rival, 150), verdictOf(rival, 29)]).toEqual(["worse", "few"]);
    }
    // Within five standard errors of 95 %, with a fixed seed.
    expect(covered / worlds).toBeGreaterThan(0.9);
    expect(covered / worlds).toBeLessThan(0.999);
  });

  it("covers the best of equal arms as often as it says, though the same ratings pick it", () => {
    const random = splitmix64(11);
    const [arms, worlds] = [6, 400];
    const covered = { together: 0, alone: 0 };
    for (let world = 0; world < worlds; world++) {
      const logged = Array.from({ length: 600 }, () => ({
        arm: Math.floor(random() * arms),
        reward: random() < 0.5 ? 1 : 0,
      }));
      const sums = Array.from({ length: arms }, (_, arm) =>
        sumsOf(logged.map((one) => ({ weight: one.arm === arm ? arms : 0, heard: 1, reward: one.reward }))),
      );
      const best = sums.toSorted((a, b) => b.weightReward / b.weight - a.weightReward / a.weight)[0]!;
      // The true difference is 0.
      for (const [name, among] of [
        ["together", arms],
        ["alone", 1],
      ] as const) {
        const { difference, reach } = rivalOf(best, among)!;
        if (Math.abs(difference) <= reach) covered[name]++;
      }
    }
    // Fixed seed: at least 95 % less two standard errors; alone it falls short by far.
    expect(covered.together / worlds).toBeGreaterThan(0.93);
    expect(covered.alone / worlds).toBeLessThan(0.9);
  });
});
