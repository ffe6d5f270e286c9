import fc from "fast-check";
import { expect, test } from "vitest";
import { sharingDomain } from "../identity/identity.ts";
import { createSharedDomains, isSharedDomain, noTenant, nothingShared } from "./shared-domains.ts";

const { sharedDomainOf, homeOf, gives } = createSharedDomains({
  dp: { tenants: ["acme", "beta"], synthetic: {} },
  support: { tenants: ["acme", "b/eta"] },
  "public faq": { tenants: "all" },
});

test("only members of a domain share its location", () => {
  expect(sharedDomainOf("acme/support")).toBe("+/support");
  expect(sharedDomainOf(sharingDomain("b/eta", "support"))).toBe("+/support");
  expect(sharedDomainOf("rival/support")).toBeNull();
  expect(sharedDomainOf("acme/default")).toBeNull();
  expect(sharedDomainOf(sharingDomain("anyone", "public faq"))).toBe("+/public%20faq");
  expect(nothingShared.sharedDomainOf("acme/support")).toBeNull();
  expect([gives("acme", "+/support"), gives("rival", "+/support"), gives("rival", "+/public%20faq")]).toEqual([
    true,
    false,
    true,
  ]);
});

test("in a shared domain of synthetic examples nothing else is kept or shown, and they are shown nowhere else", () => {
  const home = (source: string, tenant: string, domain: string): string =>
    homeOf({ source, tenant, domain: sharingDomain(tenant, domain) });
  expect([home("response", "acme", "dp"), home("observation", "acme", "dp")]).toEqual(["acme/dp", "acme/dp"]);
  expect(home("observation", noTenant, "dp")).toBe("+/dp");
  expect([home("observation", noTenant, "support"), home("observation", noTenant, "other")]).toEqual([
    "%2B/support",
    "%2B/other",
  ]);
  expect(home("response", noTenant, "dp")).toBe("%2B/dp");
  expect([home("response", "acme", "support"), home("response", "rival", "support")]).toEqual([
    "+/support",
    "rival/support",
  ]);
  expect([
    gives("acme", "+/dp"),
    gives(noTenant, "+/dp"),
    gives(noTenant, "+/support"),
    sharedDomainOf("beta/dp"),
  ]).toEqual([...[false, true, false], "+/dp"]);
});

test("a request whose tenant is called as those of synthetic examples shares nothing", () => {
  const open = createSharedDomains({
    dp: { tenants: "all", synthetic: {} },
    faq: { tenants: "all" },
    own: { tenants: [noTenant, "x"] },
  });
  for (const domain of ["dp", "faq", "own"]) {
    const own = sharingDomain(noTenant, domain);
    expect(open.sharedDomainOf(own)).toBeNull();
    expect(open.homeOf({ source: "response", tenant: noTenant, domain: own })).toBe(own);
    expect(open.gives(noTenant, `+/${domain}`)).toBe(domain === "dp");
    expect(open.sharedDomainOf(sharingDomain("x", domain))).toBe(`+/${domain}`);
  }
});

test("no tenant's own domain is a shared domain, whatever the names", () => {
  const names = fc.string({ unit: "grapheme" });
  const tenants = names.filter((name) => name !== noTenant);
  fc.assert(
    fc.property(tenants, names, (tenant, domain) => {
      const shared = createSharedDomains({ [domain]: { tenants: [tenant, "x"] } });
      const own = sharingDomain(tenant, domain);
      expect(isSharedDomain(own)).toBe(false);
      const sharedDomain = shared.sharedDomainOf(own);
      expect(sharedDomain).toBe(shared.sharedDomainOf(sharingDomain("x", domain)));
      expect(isSharedDomain(sharedDomain ?? "")).toBe(true);
      expect(shared.gives(tenant, sharedDomain ?? "")).toBe(true);
      expect(shared.sharedDomainOf(sharingDomain(`${tenant}!`, domain))).toBeNull();
    }),
  );
});
