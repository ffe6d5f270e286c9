import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deadlineOf, exampleId, identify, sharingDomain } from "./identity.ts";

const position = { topic: "precedent.requests", partition: 3, offset: 120 };

describe("identify", () => {
  it("keeps what the producer said", () => {
    expect(identify({ id: "r1", createdAt: 5 }, position, 9)).toEqual({ id: "r1", createdAt: 5 });
  });
  it("derives a missing id from the position, and a missing time from Kafka", () => {
    const expected = { id: "precedent.requests-3-120", createdAt: 9 };
    expect(identify({ id: null, createdAt: null }, position, 9)).toEqual(expected);
    expect(identify({ id: "", createdAt: null }, position, 9)).toEqual(expected);
  });
});

describe("sharingDomain", () => {
  it("has a default", () => {
    expect(sharingDomain("acme", null)).toBe("acme/default");
    expect(sharingDomain("acme", "")).toBe("acme/default");
  });
  it("is never shared by two tenants, whatever their names", () => {
    const name = fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom("a/b", "a", "b/c", "%2F", "a%2Fb", "../a"));
    fc.assert(
      fc.property(name, name, name, name, (tenant, domain, otherTenant, otherDomain) => {
        const same = tenant === otherTenant && domain === otherDomain;
        expect(sharingDomain(tenant, domain) === sharingDomain(otherTenant, otherDomain)).toBe(same);
        expect(sharingDomain(tenant, domain).split("/")).toHaveLength(2);
      }),
    );
    expect(sharingDomain("\ud800", "x")).toBe("%EF%BF%BD/x");
  });
});

describe("deadlineOf", () => {
  it("counts from createdAt", () => {
    const allow = { arms: null, maxCost: null, deadlineMs: null, costWeight: null };
    expect(deadlineOf({ createdAt: 100, allow }, 50)).toBe(150);
    expect(deadlineOf({ createdAt: 100, allow: { ...allow, deadlineMs: 7 } }, 50)).toBe(107);
  });
});

describe("exampleId", () => {
  it("is the same for the same pair only", () => {
    expect(exampleId("t/d", "q", "a")).toBe(exampleId("t/d", "q", "a"));
    expect(exampleId("t/d", "q", "a")).toMatch(/^[0-9a-f]{32}$/);
    expect(exampleId("t/d", "qa", "")).not.toBe(exampleId("t/d", "q", "a"));
  });
});
