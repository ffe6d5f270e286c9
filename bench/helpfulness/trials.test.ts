import { describe, expect, it } from "vitest";
import { labelsOf } from "./trials.ts";

const trial = (group: string, shown: boolean, reward: number) => ({ group, shown, reward, features: [1] });

describe("labelsOf", () => {
  it("gives the transformed outcome, less the mean of the other trials and one half", () => {
    const rows = labelsOf([trial("a", true, 1), trial("b", false, 0)]);
    // (1 - (0 + .5) / 2) (1 - .5) / .25; (0 - (1 + .5) / 2) (0 - .5) / .25
    expect(rows.map(({ effect }) => effect)).toEqual([1.5, 1.5]);
    expect(rows[0]).toMatchObject({ group: "a", features: [1], weight: 1 });
  });

  it("has the effect as its mean over both sides of the coin", () => {
    const many = 4_000;
    const trials = Array.from({ length: many }, (_, i) => trial(String(i), i % 2 === 0, i % 2 === 0 ? 0.7 : 0.4));
    const effects = labelsOf(trials).map(({ effect }) => effect);
    expect(effects.reduce((sum, one) => sum + one, 0) / many).toBeCloseTo(0.3, 3);
  });
});
