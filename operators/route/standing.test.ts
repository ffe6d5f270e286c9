import { expect, it } from "vitest";
import type { BreakerState } from "../../algorithms/queueing/breaker.ts";
import { standing } from "./standing.ts";

const contenders = ["a", "b", "c"].map((name) => ({ arm: { name } }));
const of = (states: Record<string, BreakerState>) => {
  const { eligible, ...more } = standing(contenders, { state: (arm) => states[arm] ?? "closed" });
  return { eligible: eligible.map(({ arm }) => arm.name), ...more };
};

it("leaves out what is open, and lets what is half-open compete", () => {
  expect(of({})).toEqual({ eligible: ["a", "b", "c"], breakers: {}, degraded: [] });
  expect(of({ a: "open", c: "half-open" })).toEqual({
    ...{ eligible: ["b", "c"], breakers: { a: "open", c: "half-open" }, degraded: ["breaker"] },
  });
  expect(of({ c: "half-open" })).toMatchObject({ eligible: ["a", "b", "c"], degraded: [] });
});

it("leaves nothing out where all are open", () => {
  const all = { a: "open", b: "open", c: "open" } as const;
  expect(of(all)).toEqual({ eligible: ["a", "b", "c"], breakers: all, degraded: ["breaker"] });
});
