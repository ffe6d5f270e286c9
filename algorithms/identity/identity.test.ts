import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  arrivalOf,
  deadlineOf,
  documentOfPiece,
  exampleId,
  identify,
  pieceName,
  sharingDomain,
  tenantOf,
  skewMs,
  workDeadline,
} from "./identity.ts";

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
        expect(tenantOf(sharingDomain(tenant, domain))).toBe(tenant);
      }),
    );
    expect(sharingDomain("\ud800", "x")).toBe("%EF%BF%BD/x");
  });
});

describe("pieceName", () => {
  it("differs by document and text, and says whose it is", () => {
    const names = ["acme/a", "acme/a/b"].flatMap((key) => ["one", "two"].map((text) => pieceName(key, text)));
    expect(new Set(names).size).toBe(4);
    expect(names.map(documentOfPiece)).toEqual(["acme/a", "acme/a", "acme/a/b", "acme/a/b"]);
    expect(pieceName("acme/a", "half \ud800")).toBe(pieceName("acme/a", "half \ufffd"));
  });
});

describe("deadlineOf", () => {
  it("counts from createdAt", () => {
    const allow = { arms: null, maxCost: null, deadlineMs: null, costWeight: null };
    expect(deadlineOf({ createdAt: 100, allow }, 50)).toBe(150);
    expect(deadlineOf({ createdAt: 100, allow: { ...allow, deadlineMs: 7 } }, 50)).toBe(107);
  });
});

describe("when a record came", () => {
  it("is what the broker says; what a producer says is believed near to now", () => {
    const now = 1_000_000;
    expect(arrivalOf({ timestamp: 5, appended: true }, now)).toBe(5);
    for (const [timestamp, arrival] of [
      [now - 1, now - 1],
      [now - skewMs - 1, now - skewMs],
      [0, now - skewMs],
      [-1, now - skewMs],
      [now + 1, now],
      [Date.UTC(2099, 0, 1), now],
      [Number.NaN, now],
    ] as const)
      expect(arrivalOf({ timestamp }, now)).toBe(arrival);
    expect(arrivalOf({ timestamp: 5 }, now, Infinity)).toBe(5);
  });

  it("carries the deadline of work over to a host whose clock differs", () => {
    const work = { plannedAt: 1_000_000, notAfter: 1_100_000 };
    expect(workDeadline(work, 1_000_020)).toBe(1_100_000);
    expect(workDeadline(work, 1_000_000 + 600_000)).toBe(1_700_000);
    expect(workDeadline(work, 1_000_000 - 600_000)).toBe(500_000);
  });

  it("a name that is too long is a short one for every stage", () => {
    const long = { id: "x".repeat(300), createdAt: 1, tenant: "y".repeat(300), domain: null };
    const named = identify(long, { topic: "t", partition: 0, offset: 0 }, 2);
    expect(named.id).toMatch(/^sha256:/);
    expect(named.tenant).toMatch(/^sha256:/);
    expect(named.domain).toBeNull();
  });
});

describe("exampleId", () => {
  it("is the same for the same pair only", () => {
    expect(exampleId("t/d", "q", "a")).toBe(exampleId("t/d", "q", "a"));
    expect(exampleId("t/d", "q", "a")).toMatch(/^[0-9a-f]{32}$/);
    expect(exampleId("t/d", "qa", "")).not.toBe(exampleId("t/d", "q", "a"));
  });
});
