// Domains whose examples tenants share by configuration, stored under "+/domain", with which no
// percent-encoded tenant collides: members' own examples or synthetic ones only.
import { sharingDomain } from "../identity/identity.ts";

export type SharingRules = Readonly<Record<string, { tenants: readonly string[] | "all"; synthetic?: unknown }>>;

export interface SharedDomains {
  /** Where examples of a domain are stored with other tenants'; null: it is not shared. */
  sharedDomainOf(domain: string): string | null;
  /** Where an answer is kept that becomes an example. */
  homeOf(answer: { source: string; tenant: string; domain: string }): string;
  /** Whether examples of this tenant may be shown from that shared domain. */
  gives(tenant: string, sharedDomain: string): boolean;
}

/** Tenant of synthetic examples; a client's tenant of this name is in no shared domain. */
export const noTenant = "+";

const shared = `${noTenant}/`;
/** Both parts of a sharing domain are encoded, so there is one slash. */
function partsOf(domain: string): [tenant: string, name: string] {
  const slash = domain.indexOf("/");
  return [domain.slice(0, slash), domain.slice(slash + 1)];
}

/** As sharing domains name `noTenant`. */
const reserved = partsOf(sharingDomain(noTenant, ""))[0];

/** Shared location of the domain with this name. */
export const sharedDomainNamed = (domain: string): string => shared + partsOf(sharingDomain("", domain))[1];
export const isSharedDomain = (domain: string): boolean => domain.startsWith(shared);

interface Rule {
  /** As sharing domains name them. */
  members: ReadonlySet<string> | "all";
  isSynthetic: boolean;
}

export function createSharedDomains(rules: SharingRules): SharedDomains {
  const byDomain = new Map<string, Rule>();
  for (const [domain, { tenants, synthetic }] of Object.entries(rules)) {
    const members =
      tenants === "all" ? tenants : new Set(tenants.map((tenant) => partsOf(sharingDomain(tenant, domain))[0]));
    byDomain.set(sharedDomainNamed(domain), { members, isSynthetic: synthetic !== undefined });
  }
  const ruleOf = (tenant: string, sharedDomain: string): Rule | undefined => {
    if (tenant === reserved) return undefined;
    const rule = byDomain.get(sharedDomain);
    return rule?.members === "all" || rule?.members.has(tenant) === true ? rule : undefined;
  };
  return {
    sharedDomainOf(domain) {
      if (byDomain.size === 0) return null;
      const [tenant, name] = partsOf(domain);
      return ruleOf(tenant, shared + name) === undefined ? null : shared + name;
    },
    homeOf({ source, tenant, domain }) {
      if (byDomain.size === 0) return domain;
      const [owner, name] = partsOf(domain);
      const sharedDomain = shared + name;
      const rule = isSynthetic({ source, tenant }) ? byDomain.get(sharedDomain) : ruleOf(owner, sharedDomain);
      if (rule === undefined) return domain;
      return rule.isSynthetic === isSynthetic({ source, tenant }) ? sharedDomain : domain;
    },
    gives(tenant, sharedDomain) {
      if (tenant === noTenant) return byDomain.get(sharedDomain)?.isSynthetic === true;
      return ruleOf(partsOf(sharingDomain(tenant, null))[0], sharedDomain)?.isSynthetic === false;
    },
  };
}

/** Requests may call themselves what they like; observations are an operator's. */
export const isSynthetic = ({ source, tenant }: { source: string; tenant: string }): boolean =>
  source === "observation" && tenant === noTenant;

export const nothingShared = createSharedDomains({});
