import { expect, it } from "vitest";
import { describeReuse } from "./doctor-reuse.ts";

const arm = { name: "reuse", tenants: ["acme"] };
const domain = (bound: number, wrong = 0, alarms = 0) => ({ cases: 50, wrong, bound, alarms });
const state = (domains: Record<string, ReturnType<typeof domain>>) => ({
  arm: "reuse",
  limit: 0.1,
  domains,
  createdAt: 0,
});

it("says where the arm is on, where it is off after wrong answers, and that its checks are stale", () => {
  expect(describeReuse({ ...arm, tenants: [] }, null, 0)).toMatchObject({ state: "waiting" });
  expect(describeReuse(arm, null, 0).detail).toMatch(/nothing was verified/);
  expect(describeReuse(arm, state({ "acme/a": domain(0.05), "acme/b": domain(0.3) }), 1_000)).toMatchObject({
    ...{ state: "fine", detail: expect.stringContaining("on in 1 of 2") as string },
  });
  const ill = describeReuse(arm, state({ "acme/a": domain(0.05), "acme/b": domain(1, 0, 2) }), 1_000);
  expect(ill).toMatchObject({ state: "lacking" });
  expect(ill.detail).toContain("acme/b: 0 of 50 wrong, 2 alarms");
  expect(describeReuse(arm, state({ "acme/a": domain(0.05) }), 4_000_000).detail).toMatch(/not checked/);
});
