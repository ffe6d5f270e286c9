import fc from "fast-check";
import { expect, test } from "vitest";
import { sharingDomain } from "../identity/identity.ts";
import { createSharedDomains, isSharedPlace, nobody, nothingShared } from "./shared-domains.ts";

const { placeOf, homeOf, gives } = createSharedDomains({
  dp: { tenants: ["acme", "beta"], synthetic: {} },
  support: { tenants: ["acme", "b/eta"] },
  "public faq": { tenants: "all" },
});

test("only members of a domain share its location", () => {
  expect(placeOf("acme/support")).toBe("+/support");
  expect(placeOf(sharingDomain("b/eta", "support"))).toBe("+/support");
  expect(placeOf("rival/support")).toBeNull();
  expect(placeOf("acme/default")).toBeNull();
  expect(placeOf(sharingDomain("anyone", "public faq"))).toBe("+/public%20faq");
  expect(nothingShared.placeOf("acme/support")).toBeNull();
  expect([gives("acme", "+/support"), gives("rival", "+/support"), gives("rival", "+/public%20faq")]).toEqual([
    true,
    false,
    true,
  ]);
});

test("in a place of synthetic examples nothing else is kept or shown, and they are shown nowhere else", () => {
  const home = (source: string, tenant: string, domain: string): string =>
    homeOf({ source, tenant, domain: sharingDomain(tenant, domain) });
  expect([home("response", "acme", "dp"), home("observation", "acme", "dp")]).toEqual(["acme/dp", "acme/dp"]);
  expect(home("observation", nobody, "dp")).toBe("+/dp");
  expect([home("observation", nobody, "support"), home("observation", nobody, "other")]).toEqual([
    "%2B/support",
    "%2B/other",
  ]);
  expect(home("response", nobody, "dp")).toBe("%2B/dp");
  expect([home("response", "acme", "support"), home("response", "rival", "support")]).toEqual([
    "+/support",
    "rival/support",
  ]);
  expect([gives("acme", "+/dp"), gives(nobody, "+/dp"), gives(nobody, "+/support"), placeOf("beta/dp")]).toEqual([
    ...[false, true, false],
    "+/dp",
  ]);
});

test("no tenant's own domain is a shared place, whatever the names", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (tenant, domain) => {
      const shared = createSharedDomains({ [domain]: { tenants: [tenant, "x"] } });
      const own = sharingDomain(tenant, domain);
      expect(isSharedPlace(own)).toBe(false);
      const place = shared.placeOf(own);
      expect(place).toBe(shared.placeOf(sharingDomain("x", domain)));
      expect(isSharedPlace(place ?? "")).toBe(true);
      expect(shared.gives(tenant, place ?? "")).toBe(true);
      expect(shared.placeOf(sharingDomain(`${tenant}!`, domain))).toBeNull();
    }),
  );
});
