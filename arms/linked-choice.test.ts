import { expect, it } from "vitest";
import { candidates, createLinkedChoice } from "./linked-choice.ts";

const sample = (policy: string, kl: number, recomputedShare: number) => ({
  ...{ requestId: "r", tenant: "t", policy, kl, recomputedShare, agreement: 1 },
});

const request = (requestId: string) => ({ requestId, tenant: "t" });

it("takes the arm's policy, and what a request asks for before it", () => {
  const choice = createLinkedChoice({ policy: "last-1", sampleShare: 1, maxKl: 0.1 }, () => 0);
  expect(choice.policy(null)).toBe("last-1");
  expect(choice.policy("full")).toBe("full");
  expect(choice.compare(request("r"), "last-1")).toEqual({ ...request("r"), policies: ["last-1"] });
  expect(choice.compare(request("r"), "full")).toEqual({ ...request("r"), policies: [] });
});

it("auto keeps the quality until something cheaper has proved itself", () => {
  const choice = createLinkedChoice({ policy: "auto", sampleShare: 1, maxKl: 0.1 }, () => 0);
  expect(choice.policy(null)).toBe("last-2");
  expect(choice.compare(request("r"), "last-2")?.policies).toEqual([...candidates]);
  for (let i = 0; i < 30; i++) {
    choice.add(sample("naive", 0.3, 0));
    choice.add(sample("last-1", 0.05, 0.1));
    choice.add(sample("last-2", 0.04, 0.2));
  }
  expect(choice.policy(null)).toBe("last-1");
});

it("compares its share of the requests", () => {
  const draws = [0.005, 0.02];
  const choice = createLinkedChoice({ policy: "last-2", sampleShare: 0.01, maxKl: 0.1 }, () => draws.shift() ?? 1);
  expect([choice.compare(request("a"), "last-2"), choice.compare(request("b"), "last-2")]).toEqual([
    { ...request("a"), policies: ["last-2"] },
    null,
  ]);
});
