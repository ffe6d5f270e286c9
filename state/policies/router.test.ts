import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { constantPrior, emptyStatistics, observe, solvePosterior } from "../../algorithms/routing/bandit.ts";
import { FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import type { Policy } from "../../schemas/types.ts";
import { createPolicyTable } from "./router-table.ts";
import {
  allArms,
  beliefsOf,
  decodeRouterPolicy,
  encodeRouterBody,
  ROUTER,
  ROUTER_KIND,
  type ArmPosterior,
} from "./router.ts";

function learnt(reward: number, seed = 1): ArmPosterior {
  const statistics = emptyStatistics(FEATURE_COUNT);
  for (let i = 0; i < 50; i++)
    observe(
      statistics,
      Array.from({ length: FEATURE_COUNT }, (_, k) => (k === 0 ? 1 : Math.sin(seed + i * k))),
      reward,
    );
  return { model: "m", count: 50, ...solvePosterior(statistics, constantPrior(FEATURE_COUNT, 0.5, 0.25, 0.1)) };
}

function record(version: number, change: Partial<Policy> = {}): Policy {
  return {
    name: ROUTER,
    tenant: "default",
    version,
    kind: ROUTER_KIND,
    body: encodeRouterBody({ arms: new Map([["small", learnt(0.7)]]) }),
    reference: null,
    hash: null,
    featureVersion: FEATURE_VERSION,
    trainedThrough: 5,
    metrics: {},
    revertOf: null,
    createdAt: 0,
    ...change,
  };
}

describe("router policy", () => {
  it("survives coding exactly", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(1_000), (reward, seed) => {
        const arm = learnt(reward, seed);
        const decoded = decodeRouterPolicy(record(3, { body: encodeRouterBody({ arms: new Map([["a", arm]]) }) }));
        if ("problem" in decoded) throw new Error(decoded.problem);
        const back = decoded.arms.get("a")!;
        expect(back.mean).toEqual(Array.from(arm.mean));
        expect(back.factor).toEqual(Array.from(arm.factor));
        expect([back.model, back.count, decoded.version, decoded.trainedThrough]).toEqual(["m", 50, 3, 5]);
      }),
      { numRuns: 20 },
    );
  });

  it.each([
    ["is of kind", { kind: "forest@1" }],
    ["has features 99", { featureVersion: 99 }],
    ["is no JSON", { body: "{" }],
    ["lies at", { reference: "s3" }],
    ["dimension", { body: JSON.stringify({ dimension: 3, arms: {} }) }],
    [
      "arms.a.mean",
      {
        body: JSON.stringify({
          dimension: FEATURE_COUNT,
          arms: { a: { model: "m", count: 1, mean: [null], factor: [] } },
        }),
      },
    ],
  ])("says that it %s", (problem, change) => {
    expect(decodeRouterPolicy(record(1, change))).toMatchObject({ problem: expect.stringContaining(problem) });
  });

  it("carries what is believed of arms that are not in it", () => {
    const prior = learnt(0.4, 7);
    const decoded = decodeRouterPolicy(
      record(1, { body: encodeRouterBody({ arms: new Map([["a", learnt(1)]]), prior }) }),
    );
    if ("problem" in decoded) throw new Error(decoded.problem);
    expect(decoded.prior).toEqual({ mean: Array.from(prior.mean), factor: Array.from(prior.factor) });
    const without = decodeRouterPolicy(record(1));
    expect("prior" in without).toBe(false);
    expect(() => encodeRouterBody({ arms: new Map(), prior: { mean: [Number.NaN], factor: [] } })).toThrow(
      "is not finite",
    );
  });

  it("may have what is believed for each tenant: one that is not in it has nothing of the others", () => {
    const prior = learnt(0.4, 7);
    const tenants = new Map([
      ["one", { arms: new Map([["a", learnt(1)]]), prior }],
      ["two", { arms: new Map([["a", learnt(0.1, 3)]]) }],
    ]);
    const decoded = decodeRouterPolicy(record(4, { body: encodeRouterBody({ arms: new Map(), tenants }) }));
    if ("problem" in decoded) throw new Error(decoded.problem);
    for (const [tenant, { arms }] of tenants) {
      const own = beliefsOf(decoded, tenant, "default/default").arms.get("a")!;
      expect(own).toMatchObject({ mean: Array.from(arms.get("a")!.mean), factor: Array.from(arms.get("a")!.factor) });
    }
    expect(beliefsOf(decoded, "one", "default/default").prior?.mean).toEqual(Array.from(prior.mean));
    expect(beliefsOf(decoded, "two", "default/default").prior).toBeUndefined();
    expect(beliefsOf(decoded, "three", "default/default")).toEqual({ arms: new Map() });
    expect([...allArms(decoded).values()]).toHaveLength(2);
    const broken = new Map([["one", { arms: new Map([["a", { ...learnt(1), mean: [Number.NaN] }]]) }]]);
    expect(() => encodeRouterBody({ arms: new Map(), tenants: broken })).toThrow("is not finite");
  });

  it("may say what a sharing domain changes; one of before that has none is read as it is", () => {
    const shift = (mean: number) => ({ mean, variance: 0.1, covariance: Float64Array.from(learnt(1).mean) });
    const domains = new Map([["t/d", { arms: new Map([["a", shift(0.3)]]), prior: shift(-0.1) }]]);
    const body = encodeRouterBody({ arms: new Map([["a", learnt(1)]]), domains });
    const decoded = decodeRouterPolicy(record(4, { body }));
    if ("problem" in decoded) throw new Error(decoded.problem);
    const { here } = beliefsOf(decoded, "t", "t/d");
    expect(here?.arms.get("a")).toEqual({ ...shift(0.3), covariance: [...shift(0.3).covariance] });
    expect(here?.prior.mean).toBe(-0.1);
    expect(beliefsOf(decoded, "t", "t/other").here).toBeUndefined();
    const before = decodeRouterPolicy(record(3));
    if ("problem" in before) throw new Error(before.problem);
    expect(beliefsOf(before, "t", "t/d").here).toBeUndefined();
    const broken = new Map([["t/d", { arms: new Map(), prior: shift(Number.NaN) }]]);
    expect(() => encodeRouterBody({ arms: new Map(), domains: broken })).toThrow("is not finite");
  });

  it("is never published with NaN in it", () => {
    const broken = { ...learnt(1), mean: [Number.NaN] };
    expect(() => encodeRouterBody({ arms: new Map([["a", broken]]) })).toThrow("posterior of a is not finite");
  });
});

describe("policy table", () => {
  it("where tenants share nothing, one that was learnt from all of them is as good as none", () => {
    const table = createPolicyTable("tenant");
    table.apply(record(3));
    expect(table.current()).toMatchObject({ policy: { version: 0, arms: new Map() }, problem: null });
    expect(beliefsOf(table.current().policy, "one", "default/default").arms.size).toBe(0);
    const tenants = new Map([["one", { arms: new Map([["small", learnt(1)]]) }]]);
    table.apply(record(4, { body: encodeRouterBody({ arms: new Map(), tenants }) }));
    expect(table.current().policy.version).toBe(4);
    expect(beliefsOf(table.current().policy, "one", "default/default").arms.size).toBe(1);
    expect(beliefsOf(table.current().policy, "two", "default/default").arms.size).toBe(0);
  });

  it("holds the newest that can be used, and the reason why a newer one is not", () => {
    const table = createPolicyTable();
    expect(table.current()).toMatchObject({ policy: { version: 0 }, problem: null });
    table.apply(record(2));
    table.apply(record(1));
    table.apply(record(9, { name: "threshold" }));
    expect(table.current()).toMatchObject({ policy: { version: 2 }, problem: null });
    table.apply(record(3, { body: "" }));
    expect(table.current()).toMatchObject({
      policy: { version: 2 },
      problem: expect.stringContaining("router policy 3"),
    });
    table.apply(record(4, { revertOf: 2 }));
    expect(table.current()).toMatchObject({ policy: { version: 4 }, problem: null });
    table.remove(ROUTER);
    expect(table.current().policy.version).toBe(0);
  });

  it("holds the pinned versions that it is asked for, whatever is newer", () => {
    const table = createPolicyTable("shared", [3]);
    const at = (version: number) => {
      const { policy, problem } = table.version(version);
      return [policy.version, problem];
    };
    table.apply(record(3));
    const absent = [0, expect.stringContaining("precedent policy pin")];
    expect([at(0), at(3), at(4)]).toEqual([[0, null], absent, [0, expect.stringContaining("pin 4")]]);
    table.apply(record(3, { name: "router@3" }));
    table.apply(record(4, { name: "router@4" }));
    table.apply(record(9));
    expect([at(3), at(4)[0], table.current().policy.version]).toEqual([[3, null], 0, 9]);
    table.remove("router@3");
    table.apply(record(3, { name: "router@3", body: "" }));
    expect(at(3)).toEqual([0, expect.stringContaining("router policy 3")]);
  });
});
