import { expect, it } from "vitest";
import { verifyDomains } from "./reuse.ts";

it("verifies each sharing domain by its own cases, in their order", () => {
  const cases = Array.from({ length: 120 }, (_, i) => ({
    ...{ id: `r${i}`, at: i, domain: i % 2 === 0 ? "acme/good" : "rival/bad", wrong: i % 2 === 1 },
  }));
  const verified = verifyDomains(cases, { limit: 0.1 });
  expect(verified.get("acme/good")).toMatchObject({ counted: { cases: 60, wrong: 0 }, alarms: 0 });
  expect(verified.get("acme/good")!.bound).toBeLessThan(0.1);
  expect(verified.get("rival/bad")!.alarms).toBeGreaterThan(0);
  expect(verified.get("rival/bad")!.bound).toBeGreaterThan(0.1);
});
