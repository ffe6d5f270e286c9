import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Request } from "../../schemas/types.ts";
import { aContext, validated } from "../values.testing.ts";
import { createAssign, type AssignDependencies, type Experiment } from "./assign.ts";

const arms = [
  { name: "small", capabilities: [] },
  { name: "large", capabilities: ["tools"] as const },
  { name: "short", capabilities: [], experimental: true },
];
const experiment: Experiment = {
  ...{ name: "shorter", share: 1, by: "user" },
  variants: [
    { name: "control", weight: 1 },
    { name: "short", arms: ["short"], weight: 1 },
  ],
};
const assignWith = (
  experiments: readonly Experiment[],
  of: AssignDependencies["arms"] = () => arms,
  isPinned: NonNullable<AssignDependencies["isPinned"]> = () => false,
) => {
  const assign = createAssign({ arms: of, experiments, isPinned });
  return (change: Partial<Request> = {}) => {
    const outcome = assign(validated(change), aContext());
    if (!("kind" in outcome) || outcome.kind !== "ok") throw new Error("it assigns every request");
    return outcome.value;
  };
};
const ofUser = (user: string): Partial<Request> => ({ metadata: { user } });
const allow = (change: Partial<Request["allow"]>): Partial<Request> => ({
  allow: { arms: null, maxCost: null, deadlineMs: null, costWeight: null, ...change },
});

describe("a variant", () => {
  it("is kept by its user, whatever they ask, and drawn by its weight", () => {
    const assign = assignWith([
      { ...experiment, variants: [{ ...experiment.variants[0]!, weight: 3 }, experiment.variants[1]!] },
    ]);
    const counts = { control: 0, short: 0 };
    for (let i = 0; i < 2_000; i++) {
      const [first, second] = ["a", "b"].map((id) =>
        assign({ ...ofUser(`u${i}`), id, messages: [{ role: "user", content: id }] }),
      );
      expect(second!.experiment).toEqual(first!.experiment);
      counts[first!.experiment!.variant as keyof typeof counts]++;
    }
    expect(counts.short / 2_000).toBeGreaterThan(0.21);
    expect(counts.short / 2_000).toBeLessThan(0.29);
  });

  it("says what may answer, and how probable it was", () => {
    const assign = assignWith([experiment]);
    const found = Array.from({ length: 50 }, (_, i) => assign(ofUser(`u${i}`)));
    const by = (variant: string) => found.find(({ experiment: its }) => its?.variant === variant)!;
    expect(by("control").experiment).toMatchObject({ name: "shorter", isControl: true, probability: 0.5 });
    expect(by("control").request.allow.arms).toEqual(["small", "large"]);
    expect(by("short").experiment).toMatchObject({ isControl: false, unit: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(by("short").request.allow.arms).toEqual(["short"]);
  });

  it("may change the cost weight alone", () => {
    const variants = [
      { name: "best", costWeight: 0, weight: 1 },
      { name: "cheap", costWeight: 0.5, weight: 1 },
    ];
    const assign = assignWith([{ ...experiment, variants }], () => arms.slice(0, 2));
    const found = Array.from({ length: 50 }, (_, i) => assign(ofUser(`u${i}`)).request.allow);
    expect(new Set(found.map(({ costWeight }) => costWeight))).toEqual(new Set([0, 0.5]));
    expect(found.every(({ arms: named }) => named === null)).toBe(true);
  });
});

it("routes by the variant's version of the router, once all versions of the experiment are pinned", () => {
  const variants = [
    { name: "newest", weight: 1 },
    { name: "old", routerVersion: 3, weight: 1 },
    { name: "none", routerVersion: 0, weight: 1 },
  ];
  const pinned = new Set([0]);
  const assign = assignWith([{ ...experiment, variants }], undefined, (version) => pinned.has(version));
  const found = () => Array.from({ length: 50 }, (_, i) => assign(ofUser(`u${i}`)));
  expect(found().filter(({ experiment: its, routerVersion }) => its !== null || routerVersion !== undefined)).toEqual(
    [],
  );
  pinned.add(3);
  const versions = new Set(found().map(({ experiment: its, routerVersion }) => `${its?.variant} ${routerVersion}`));
  expect(versions).toEqual(new Set(["newest undefined", "old 3", "none 0"]));
});

it("names a user by a key, where personal data are redacted, and draws the same", () => {
  const under = (unitSecret?: string) => {
    const assign = createAssign({ arms: () => arms, experiments: [experiment], unitSecret });
    const outcome = assign(validated(ofUser("ann")), aContext());
    if (!("kind" in outcome) || outcome.kind !== "ok") throw new Error("it assigns every request");
    return outcome.value.experiment!;
  };
  const [plain, one, other] = [under(), under("a secret of sixteen"), under("another of sixteen")];
  expect(new Set([plain.unit, one.unit, other.unit]).size).toBe(3);
  expect([one.variant, other.variant]).toEqual([plain.variant, plain.variant]);
  expect(one.unit).toMatch(/^[0-9a-f]{16}$/);
});

describe("takes part", () => {
  const whole = assignWith([experiment]);
  it.each<[string, Partial<Request>]>([
    ["names arms of which a variant has none", allow({ arms: ["small"] })],
    ["needs what no arm of a variant declares", { requires: ["tools"] }],
    ["names the experimental arm", allow({ arms: ["nothing"] })],
  ])("no request that %s", (_name, change) => {
    for (let i = 0; i < 20; i++) expect(whole({ ...ofUser(`u${i}`), ...change }).experiment).toBeNull();
  });

  it("a request whose arms leave each variant one", () => {
    const found = Array.from({ length: 40 }, (_, i) =>
      whole({ ...ofUser(`u${i}`), ...allow({ arms: ["short", "large"] }) }),
    );
    expect(new Set(found.map(({ request }) => String(request.allow.arms)))).toEqual(new Set(["large", "short"]));
  });

  it("no request with a cost weight of its own, where a variant has one", () => {
    const variants = [
      { name: "a", weight: 1 },
      { name: "b", costWeight: 0.5, weight: 1 },
    ];
    const assign = assignWith([{ ...experiment, variants }]);
    expect(assign({ ...ofUser("u"), ...allow({ costWeight: 0.1 }) }).experiment).toBeNull();
    expect(assign(ofUser("u")).experiment).not.toBeNull();
  });

  it("the share of the units, whole ones", () => {
    const assign = assignWith([{ ...experiment, share: 0.3 }]);
    const part = Array.from({ length: 2_000 }, (_, i) => assign(ofUser(`u${i}`)).experiment !== null);
    expect(part.filter(Boolean).length / 2_000).toBeGreaterThan(0.26);
    expect(part.filter(Boolean).length / 2_000).toBeLessThan(0.34);
  });

  it("in the first experiment that draws it, of its tenant's", () => {
    const other = { ...experiment, name: "other" };
    const assign = assignWith([
      { ...experiment, tenants: ["beta"] },
      { ...experiment, share: 0 },
      other,
      { ...other, name: "last" },
    ]);
    expect(assign({ ...ofUser("u"), tenant: "beta" }).experiment?.name).toBe("shorter");
    expect(assign({ ...ofUser("u"), tenant: "acme" }).experiment?.name).toBe("other");
  });
});

describe("who keeps a variant", () => {
  const unit = (by: Experiment["by"], change: Partial<Request>) =>
    assignWith([{ ...experiment, by }])(change).experiment?.unit;
  const turns = (...contents: string[]) =>
    contents.map((content, i) => ({ role: i % 2 === 0 ? ("user" as const) : ("assistant" as const), content }));
  it.each<[string, Experiment["by"], Partial<Request>, Partial<Request>, boolean]>([
    ["a tenant, all of its users", "tenant", ofUser("a"), ofUser("b"), true],
    ["each tenant its own", "tenant", { tenant: "acme" }, { tenant: "beta" }, false],
    ["a user of one tenant", "user", { ...ofUser("a"), tenant: "acme" }, { ...ofUser("a"), tenant: "beta" }, false],
    [
      "a user in all sessions",
      "user",
      { metadata: { user: "a", session: "1" } },
      { metadata: { user: "a", session: "2" } },
      true,
    ],
    [
      "a session",
      "session",
      { metadata: { user: "a", session: "1" } },
      { metadata: { user: "b", session_id: "1" } },
      true,
    ],
    [
      "where no user is named, the session",
      "user",
      { metadata: { session: "1" } },
      { id: "r2", metadata: { session: "1" } },
      true,
    ],
    [
      "where no session is named, the conversation",
      "session",
      { messages: turns("a") },
      { id: "r2", messages: turns("a", "b", "c") },
      true,
    ],
    ["another conversation another", "session", { messages: turns("a") }, { messages: turns("b") }, false],
    ["a request", "request", { id: "r1" }, { id: "r2" }, false],
  ])("%s", (_name, by, one, other, isSame) => {
    expect(unit(by, one) === unit(by, other)).toBe(isSame);
  });
});

it("keeps experimental arms from requests that may be answered by others, and nothing else from any", () => {
  const assign = assignWith([]);
  expect(assign().request.allow.arms).toEqual(["small", "large"]);
  expect(assign(allow({ arms: ["short"] })).request.allow.arms).toEqual(["short"]);
  // As a model with several arms, an alias or a key allows them.
  expect(assign(allow({ arms: ["short", "large"] })).request.allow.arms).toEqual(["large"]);
  expect(assign(allow({ arms: ["large", "small"] })).request.allow.arms).toEqual(["large", "small"]);
  expect(assignWith([], () => arms.slice(0, 2))().request.allow.arms).toBeNull();
});

it("is a function of what it is told: in every process the same", () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.string(),
      fc.constantFrom("request", "session", "user", "tenant"),
      (user, tenant, by) => {
        const change = { tenant, metadata: { user } };
        const [one, other] = [1, 2].map(() => assignWith([{ ...experiment, by }])(change).experiment);
        expect(other).toEqual(one);
      },
    ),
  );
});
