import { describe, expect, it } from "vitest";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { armSchema } from "../../config/schema.ts";
import { priorPolicy } from "../../state/policies/router.ts";
import type { Decision, Request } from "../../schemas/types.ts";
import { aContext, anExample, decidedOf, NOW, selected } from "../values.testing.ts";
import type { RouteArm } from "../../arms/routed.ts";
import { createRoute, type RouteConfig, type RouteDependencies } from "./route.ts";

const settings = armSchema.parse({ name: "reuse", type: "reuse", tenants: ["*"], verifyShare: 0.2 });
if (settings.type !== "reuse") throw new Error("unreachable");
const arm = (name: string, cost: number, more: Partial<RouteArm> = {}): RouteArm => ({
  ...{ name, model: `${name}-model`, cost, examples: true, template: "chat-turns", maxTokens: 100 },
  ...{ prices: { prompt: 1e6 * cost, completion: 1e6 * cost } },
  ...more,
});
const arms = [arm("reuse", 0, { reuse: settings }), arm("small", 0.1), arm("large", 1)];
const routing: RouteConfig = {
  ...{ costWeight: 0.3, priorMean: 0.5, priorVariance: 0.25, askShare: 0 },
  load: { threshold: 0.8 },
  saturation: { threshold: 2 },
};
const kept = anExample("kept", 0.95);
const withKept = selected({ examplesByArm: new Map([["reuse", [kept]]]) });

function deciding(change: Partial<RouteDependencies> = {}) {
  const route = createRoute({
    policy: () => ({ policy: priorPolicy, problem: null }),
    arms: () => arms,
    load: () => ({ costlier: 0, byArm: new Map() }),
    random: splitmix64(5),
    clock: () => NOW,
    reuseBound: () => 0.05,
    routing,
    ...change,
  });
  return async (input = withKept, request: Partial<Pick<Request, "allow">> = {}): Promise<Decision> => {
    const outcome = await route({ ...input, request: { ...input.request, ...request } }, aContext());
    if (outcome.kind !== "ok") throw new Error(JSON.stringify(outcome));
    return decidedOf(outcome.value).decision;
  };
}
const times = async (decide: () => Promise<Decision>, n = 2_000): Promise<Decision[]> =>
  Promise.all(Array.from({ length: n }, () => decide()));
const share = (all: readonly Decision[], of: (one: Decision) => boolean): number => all.filter(of).length / all.length;
const names = ({ arms: scores }: Decision): string[] => scores.map((score) => score.arm);

describe("an arm that reuses answers", () => {
  it("is no candidate without an example, and nothing is logged of it", async () => {
    const decision = await deciding()(selected());
    expect(names(decision)).toEqual(["small", "large"]);
    expect(decision.reuse).toBeNull();
  });

  it("is chosen as often as it says, but for the share that verifies", async () => {
    const all = await times(() => deciding_());
    const on = all.filter(({ reuse }) => reuse?.state === "on");
    const held = all.filter(({ reuse }) => reuse?.state === "held_back");
    expect(held.length / all.length).toBeCloseTo(0.2, 1);
    const [some] = on;
    expect(some!.reuse).toMatchObject({ arm: "reuse", exampleId: "kept", similarity: 0.95, bound: 0.05 });
    const reported = some!.arms.find((score) => score.arm === "reuse")!.probability;
    expect(share(on, (one) => one.arm === "reuse")).toBeCloseTo(reported, 1);
    for (const one of held) {
      expect(names(one)).toEqual(["small", "large"]);
      expect(one.arms.reduce((sum, { probability }) => sum + probability, 0)).toBeCloseTo(1, 9);
    }
    // A sample of what it would have answered.
    expect(share(held, (one) => one.reuse!.verifies)).toBeCloseTo(reported, 1);
    expect(on.some(({ reuse }) => reuse!.verifies)).toBe(false);
    expect(all.some(({ alternativeArm }) => alternativeArm === "reuse")).toBe(false);
  });
  const deciding_ = deciding();

  it.each([0.11, 1])("is off above its limit (%s), while what it would have answered is verified", async (bound) => {
    const decide = deciding({ reuseBound: () => bound });
    const all = await times(() => decide(), 500);
    expect(all.every((one) => !names(one).includes("reuse") && one.reuse?.state === "off")).toBe(true);
    expect(share(all, (one) => one.reuse!.verifies)).toBeGreaterThan(0.2);
  });

  it("is off while nothing is known of the domain", async () => {
    const asked: string[][] = [];
    await deciding({
      reuseBound: (...of) => {
        asked.push(of);
        return 1;
      },
    })();
    expect(asked).toEqual([["reuse", "acme/default"]]);
    expect((await deciding({ reuseBound: undefined as never })()).reuse?.state).toBe("off");
  });

  it("never answers where routing is degraded, nor where the request names other arms", async () => {
    const broken = deciding({ policy: () => ({ policy: { ...priorPolicy, featureVersion: 0 }, problem: "x" }) });
    for (const one of await times(() => broken(), 50)) expect(one.arm).toBe("small");
    const allow = { arms: ["large"], maxCost: null, deadlineMs: null, costWeight: null };
    expect(names(await deciding()(withKept, { allow }))).toEqual(["large"]);
  });

  it("saves what the best of the others would have cost", async () => {
    const decide = deciding();
    const all = (await times(() => decide(), 200)).filter(({ arm: name }) => name === "reuse");
    // The prompt's and the answer's tokens at small, which is as good by the prior and cheaper.
    expect(new Set(all.map(({ reuse }) => reuse!.savedCost)).size).toBe(1);
    expect(all[0]!.reuse!.savedCost).toBeGreaterThan(0.1);
    expect(all[0]!.reuse!.savedCost).toBeLessThan(10);
  });

  it("does not hide that the other arms fail", async () => {
    const health = { state: () => "open" as const, probed: () => undefined };
    const decision = await deciding({ health, reuseBound: () => 1 })();
    expect(names(decision)).toEqual(["small", "large"]);
    expect(decision.degraded).toContain("breaker");
  });
});
