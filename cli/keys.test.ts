import { describe, expect, it } from "vitest";
import { keyOf, problemOf, rotated, updated } from "../gateway/keys/grants.ts";
import { plainKey } from "../gateway/keys/key.testing.ts";
import { findKeys } from "../gateway/keys/manage.ts";
import { describeKeys } from "./describe-keys.ts";

const made = { id: "prk-1", hash: "1".repeat(64) };
const grants = {
  ...{ tenant: "acme", label: "", arm: ["small"], domain: ["d"], requestsPerMinute: 5, spendLimitPerDay: 1.5 },
};

describe("a key that is made", () => {
  it("may do what was granted, and is no more limited than that", () => {
    expect(keyOf(grants, made, 7)).toEqual(
      plainKey({ ...made, arms: ["small"], domains: ["d"], requestsPerMinute: 5, spendLimitPerDay: 1.5, createdAt: 7 }),
    );
  });

  it("for operators has no tenant, and nothing that is a tenant's", () => {
    expect(keyOf({ label: "", admin: true }, made, 7)).toEqual(
      plainKey({ ...made, tenant: "", admin: true, createdAt: 7 }),
    );
    expect(problemOf({ label: "", admin: true }, [])).toBeNull();
    expect(problemOf({ label: "", admin: true, tenant: "acme" }, [])).toContain("--admin");
    expect(problemOf({ label: "", admin: true, requestsPerMinute: 5 }, [])).toContain("--admin");
    expect(keyOf({ label: "" }, made, 7).tenant).toBe("default");
  });

  it("is refused for what can't be", () => {
    expect(problemOf(grants, ["small"])).toBeNull();
    expect(problemOf(grants, ["large", "huge"])).toContain("--arm small: there are large, huge");
    expect(problemOf({ ...grants, tenant: " " }, ["small"])).toContain("--tenant");
    expect(problemOf({ ...grants, tenant: "x".repeat(257) }, ["small"])).toContain("--tenant has 257 bytes");
    expect(problemOf({ ...grants, domain: ["é".repeat(200)] }, ["small"])).toContain("--domain");
    expect(problemOf({ ...grants, tokensPerMinute: 2 ** 31 }, ["small"])).toContain("at most");
  });
});

describe("a key that is rotated", () => {
  const old = plainKey({ id: "prk-0", arms: ["small"], tokensPerMinute: 9, createdAt: 1 });
  it("has one that may do the same after it, and is revoked at once", () => {
    expect(rotated(old, made, { now: 50 })).toEqual([
      { ...old, ...made, account: "prk-0", createdAt: 50 },
      { ...old, revokedAt: 50 },
    ]);
  });
  it("has spent what all those before it have", () => {
    const [second] = rotated(old, made, { now: 50 });
    const [third] = rotated(second, { id: "prk-2", hash: "2".repeat(64) }, { now: 60 });
    expect([old, second, third].map(({ account }) => account)).toEqual([null, "prk-0", "prk-0"]);
  });
  it("or after a while, never later than it would have ended anyway", () => {
    expect(rotated(old, made, { now: 50, overlap: 10 })[1]).toEqual({ ...old, expiresAt: 60 });
    const [next, last] = rotated({ ...old, expiresAt: 55 }, made, { now: 50, overlap: 10 });
    expect([next.expiresAt, last.expiresAt]).toEqual([null, 55]);
  });
});

describe("a key that is updated", () => {
  it("has the limits that were named, without those that are none, and the rest as it was", () => {
    const old = plainKey({ spendLimitPerDay: 2, spendLimitPerMonth: 9, requestsPerMinute: 5, tokensPerMinute: 7 });
    const changes = { spendLimitPerDay: "none", spendLimitPerMonth: 0.5, requestsPerMinute: "none" } as const;
    expect(updated(old, changes)).toEqual({
      ...old,
      spendLimitPerDay: null,
      spendLimitPerMonth: 0.5,
      requestsPerMinute: null,
    });
  });
});

describe("keys", () => {
  const keys = [plainKey({ id: "prk-a" }), plainKey({ id: "prk-b" })];
  it("are found by id or by the whole key, all or none", () => {
    expect(findKeys(keys, ["prk-b", "prk-a.secret", "prk-b"]).map(({ id }) => id)).toEqual(["prk-b", "prk-a"]);
    expect(() => findKeys(keys, ["prk-a", "prk-x.secret"])).toThrow("there is no key prk-x:");
  });
  it("are listed with their state and without their hash", () => {
    const states = [{}, { revokedAt: 0 }, { expiresAt: 60_000 }, { expiresAt: 1 }];
    const text = describeKeys(
      states.map((state, index) => plainKey({ id: `prk-${index}`, hash: "f".repeat(64), ...state })),
      1_000,
      null,
    );
    const shown = text.split("\n").flatMap((line) => /(valid|revoked|until|expired)/.exec(line)?.[1] ?? []);
    expect(shown).toEqual(["valid", "revoked", "until", "expired"]);
    expect(text).not.toContain("ffff");
    expect(text).toContain("?");
    expect(describeKeys([], 0, null)).toContain("precedent keys create");
  });
  it("are listed without what a terminal would act on", () => {
    const label = "\u001b[2J\u001b]0;owned\u0007\u009b31mlabel\u202e";
    expect(describeKeys([plainKey({ id: "prk-1", label })], 0, null)).not.toMatch(/[^\n\u0020-\u007e\u2500-\u257f]/);
  });
  it("are listed with what they have spent of their spend limits; an admin key with nothing", () => {
    const all = [plainKey({ id: "prk-a", spendLimitPerDay: 2.5 }), plainKey({ id: "prk-b", tenant: "", admin: true })];
    const lines = describeKeys(all, 0, () => ({ day: 0.1 + 0.2, month: 12 })).split("\n");
    expect(lines.find((line) => line.includes("prk-a"))).toMatch(/│ 0\.3 of 2\.5 +│ 12 +│/);
    expect(lines.find((line) => line.includes("prk-b"))).not.toContain("0.3");
  });
});
