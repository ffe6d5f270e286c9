// The tenants that have topics of their own, as they are in force in this process. They can change
// while it runs (SIGHUP): callers read them anew each time.
import type { Config } from "../config/schema.ts";
import { streamingTenantsOf, tenantsOf } from "../config/tenants.ts";

export type ConfiguredTenants = Config["tenants"];

export interface TenantsInForce {
  configured(): ConfiguredTenants;
  names(): readonly string[];
  has(name: string): boolean;
  /** Those that have a topic of pieces of their answers. */
  streaming(): readonly string[];
  isStreaming(name: string): boolean;
  replace(tenants: ConfiguredTenants): void;
}

export function createTenants(initial: ConfiguredTenants): TenantsInForce {
  let configured = initial;
  return {
    configured: () => configured,
    names: () => tenantsOf({ tenants: configured }),
    has: (name) => Object.hasOwn(configured, name),
    streaming: () => streamingTenantsOf({ tenants: configured }),
    isStreaming: (name) => Object.hasOwn(configured, name) && configured[name]?.deltas === true,
    replace: (tenants) => void (configured = tenants),
  };
}

const spelled = (tenants: ConfiguredTenants): string =>
  JSON.stringify(Object.entries(tenants).sort(([one], [other]) => (one < other ? -1 : 1)));

export const sameTenants = (one: ConfiguredTenants, other: ConfiguredTenants): boolean =>
  spelled(one) === spelled(other);
