import { describe, expect, it } from "vitest";
import { parseCompared } from "./research/policy.ts";
import { fullPlan, passagesPlan, quickPlan } from "./plan.ts";

describe.each([
  ["full", fullPlan],
  ["passages", passagesPlan],
  ["quick", quickPlan],
])("the %s plan", (_name, { parts, throughput }) => {
  it("measures no request twice, under policies that there are", () => {
    const names = parts.map(({ workload, index }) => `${workload}/${index}`);
    expect(new Set(names).size).toBe(names.length);
    for (const { policies } of parts)
      for (const name of Object.values(policies).flat()) expect(parseCompared(name)).not.toHaveProperty("problem");
  });

  it("compares every policy under load with full", () => {
    for (const { policies, after } of throughput) {
      expect(policies).toContain("full");
      expect(after).toBeLessThanOrEqual(parts.length);
    }
  });

  it("takes every workload's sample from its beginning", () => {
    for (const workload of new Set(parts.map((part) => part.workload))) {
      const indices = parts.filter((part) => part.workload === workload).map(({ index }) => index);
      expect(indices).toEqual(indices.map((_, i) => i));
    }
  });
});
