import { expect, it } from "vitest";
import { limitsOf, limitTexts, noLimits } from "./limit-fields.tsx";

it("sends the limits that were changed and no others, and those that were emptied as none", () => {
  const before = limitTexts({ requestsPerMinute: 50, spendLimitPerDay: 2.5, spendLimitPerMonth: 1e-7 });
  expect(limitsOf(before, before)).toEqual({});
  expect(limitsOf({ ...before, requestsPerMinute: " ", tokensPerMinute: "900", spendLimitPerDay: "2.50" }, before)).toEqual({ requestsPerMinute: "none", tokensPerMinute: 900, spendLimitPerDay: 2.5 }); // prettier-ignore
});

it("sends the limits of a new key alone that were filled in", () => {
  expect(limitsOf(noLimits)).toEqual({});
  expect(limitsOf({ ...noLimits, spendLimitPerMonth: "0.1" })).toEqual({ spendLimitPerMonth: 0.1 });
});
