import { describe, expect, it } from "vitest";
import { armSchema, type ArmConfig } from "../config/schema.ts";
import { answerCost, normalisedCosts } from "./cost.ts";

const arm = (name: string, prices: ArmConfig["prices"], cost?: number): ArmConfig =>
  armSchema.parse({ name, type: "recorded", file: "x", prices, ...(cost === undefined ? {} : { cost }) });

describe("cost", () => {
  it("charges prompt and completion per million tokens", () => {
    expect(answerCost({ prompt: 1000, completion: 200 }, { prompt: 2, completion: 10 })).toBeCloseTo(0.004, 12);
  });

  it("sets the most expensive arm to 1, a free one to 0, and lets the configuration override", () => {
    const costs = normalisedCosts([
      arm("free", { prompt: 0, completion: 0 }),
      arm("large", { prompt: 4, completion: 16 }),
      arm("half", { prompt: 2, completion: 8 }),
      arm("fixed", { prompt: 0, completion: 0 }, 0.2),
    ]);
    expect(Object.fromEntries(costs)).toEqual({ free: 0, large: 1, half: 0.5, fixed: 0.2 });
  });

  it("is 0 for every arm when none has a price", () => {
    expect([
      ...normalisedCosts([arm("a", { prompt: 0, completion: 0 }), arm("b", { prompt: 0, completion: 0 })]).values(),
    ]).toEqual([0, 0]);
  });
});
