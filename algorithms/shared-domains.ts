// Domains of which tenants share the examples, by configuration alone. What they share is kept in
// one place for all of them, "+/domain": a tenant's name is percent-encoded where it stands in a
// sharing domain, so none leads there.
import { sharingDomain } from "./identity.ts";

/** By the name of a domain: the tenants that share it. */
export type SharingRules = Readonly<Record<string, { tenants: readonly string[] | "all" }>>;

export interface SharedDomains {
  /**
   * Where the examples of a sharing domain (tenant/domain) are kept together with those of other
   * tenants; null: its tenant shares it with nobody.
   */
  placeOf(domain: string): string | null;
  /** Whether examples of this tenant may be shown from that place. */
  gives(tenant: string, place: string): boolean;
}

const shared = "+/";
/** Both parts of a sharing domain are encoded, so there is one slash. */
const partsOf = (domain: string): [tenant: string, name: string] => {
  const slash = domain.indexOf("/");
  return [domain.slice(0, slash), domain.slice(slash + 1)];
};

export const isSharedPlace = (domain: string): boolean => domain.startsWith(shared);

export function createSharedDomains(rules: SharingRules): SharedDomains {
  /** Tenants as sharing domains name them. */
  const membersOf = new Map<string, ReadonlySet<string> | "all">();
  for (const [domain, { tenants }] of Object.entries(rules)) {
    const [, name] = partsOf(sharingDomain("", domain));
    const members =
      tenants === "all" ? tenants : new Set(tenants.map((tenant) => partsOf(sharingDomain(tenant, domain))[0]));
    membersOf.set(shared + name, members);
  }
  const isMember = (tenant: string, place: string): boolean => {
    const members = membersOf.get(place);
    return members === "all" || members?.has(tenant) === true;
  };
  return {
    placeOf(domain) {
      if (membersOf.size === 0) return null;
      const [tenant, name] = partsOf(domain);
      return isMember(tenant, shared + name) ? shared + name : null;
    },
    gives: (tenant, place) => isMember(partsOf(sharingDomain(tenant, null))[0], place),
  };
}

/** Nobody shares anything. */
export const nothingShared = createSharedDomains({});
