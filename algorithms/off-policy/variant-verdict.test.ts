import { expect, it } from "vitest";
import { describeVerdict, type VariantFigures } from "./variant-verdict.ts";

const figures: VariantFigures = {
  ...{ variant: "short", verdict: "better", ratedUnits: 400 },
  ...{ difference: 0.05, low: 0.01, high: 0.09 },
};

it.each<[Partial<VariantFigures>, string]>([
  [{}, "short is better than the control (+0.050, between +0.010 and +0.090): the experiment may end."],
  [
    { verdict: "worse", difference: -0.05, low: -0.09, high: -0.01 },
    "short is worse than the control (-0.050, between -0.090 and -0.010): the experiment may end.",
  ],
  [
    { verdict: "open", difference: 0, low: -0.1, high: 0.1 },
    "short: no verdict yet (+0.000, between -0.100 and +0.100); go on.",
  ],
  [
    { verdict: "too_few", ratedUnits: 7, difference: 0.2, low: null, high: null },
    "short: no verdict yet; it has 7 rated units, and it and the control need 30 each.",
  ],
  [{ verdict: "control", difference: null, low: null, high: null }, "short is the control."],
])("%o", (change, sentence) => {
  expect(describeVerdict({ ...figures, ...change })).toBe(sentence);
});
