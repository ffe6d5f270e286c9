import { describe, expect, it } from "vitest";
import { splitmix64 } from "../numeric/random.ts";
import { foldOf, folds, logOf } from "./log.ts";
import { decided, randomLog } from "./log.testing.ts";
import { crossFitted } from "./reward-model.ts";

describe("the reward model", () => {
  it("finds what each arm earns in a context", () => {
    const random = splitmix64(2);
    const earns = [(x: number) => 0.5 + 0.4 * x, (x: number) => 0.5 - 0.2 * x];
    const log = logOf(
      Array.from({ length: 4_000 }, (_, i) => {
        const x = random() * 2 - 1;
        const chosen = random() < 0.5 ? 0 : 1;
        return decided([0.5, 0.5], chosen, random() < earns[chosen]!(x) ? 1 : 0, { id: `r${i}`, x: [1, x] });
      }),
      2,
    );
    const predicted = crossFitted(log);
    log.arm.forEach((arm, candidate) => {
      const x = log.x[2 * candidate + 1]!;
      expect(Math.abs(predicted[candidate]! - earns[arm]!(x))).toBeLessThan(0.1);
    });
  });

  it("never predicts a decision from its own reward", () => {
    const { log } = randomLog(9, 60);
    const before = crossFitted(log);
    const changed = { ...log, reward: log.reward.slice() };
    changed.reward[7] = 1 - changed.reward[7]!;
    const after = crossFitted(changed);
    const fold = log.fold[7]!;
    // The mean that models are drawn to is of all rewards: one of 60 moves it by 1/60 at the most.
    for (let i = 0; i < 60; i++) {
      if (log.fold[i] !== fold) continue;
      for (let k = log.start[i]!; k < log.start[i + 1]!; k++)
        expect(Math.abs(after[k]! - before[k]!)).toBeLessThan(1 / 60);
    }
    const others = [...after].filter((one, k) => Math.abs(one - before[k]!) > 1e-6);
    expect(others.length).toBeGreaterThan(0);
  });

  it("predicts the mean for an arm that earned nothing yet", () => {
    const log = logOf(
      [0, 1, 2, 3].map((i) => decided([0.9, 0.1], 0, i % 2, { id: `r${i}` })),
      1,
    );
    expect(crossFitted(log)[1]).toBeCloseTo(0.5, 12);
  });

  it("has folds by the hash of the request alone, of about the same size", () => {
    const sizes = new Array<number>(folds).fill(0);
    for (let i = 0; i < 5_000; i++) sizes[foldOf(`request-${i}`)]!++;
    for (const size of sizes) expect(Math.abs(size - 1_000)).toBeLessThan(150);
    expect(foldOf("request-1")).toBe(foldOf("request-1"));
  });
});
