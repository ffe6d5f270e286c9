import fc from "fast-check";
import { expect, test } from "vitest";
import { sharingDomain } from "./identity.ts";
import { createSharedDomains, isSharedPlace, nothingShared } from "./shared-domains.ts";

const { placeOf, gives } = createSharedDomains({
  support: { tenants: ["acme", "b/eta"] },
  "public faq": { tenants: "all" },
});

test("members of a domain have one place, nobody else has", () => {
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
