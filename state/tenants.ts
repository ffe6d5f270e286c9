// The tenants that have topics of their own, as they are in force in this process. They can change
// while it runs (SIGHUP): callers read them anew each time.
import type { Config } from "../config/schema.ts";
import { streamingTenantsOf, tenantsOf } from "../config/tenants.ts";

export type ConfiguredTenants = Config["tenants"];

export type TenantsInForce = ReturnType<typeof createTenants>;

export function createTenants(initial: ConfiguredTenants) {
  let configured = initial;
  return {
    configured: (): ConfiguredTenants => configured,
    names: (): readonly string[] => tenantsOf({ tenants: configured }),
    has: (name: string): boolean => Object.hasOwn(configured, name),
    /** Those that have a topic of pieces of their answers. */
    streaming: (): readonly string[] => streamingTenantsOf({ tenants: configured }),
    isStreaming: (name: string): boolean => Object.hasOwn(configured, name) && configured[name]?.deltas === true,
    replace: (tenants: ConfiguredTenants): void => void (configured = tenants),
  };
}

const spelled = (tenants: ConfiguredTenants): string =>
  JSON.stringify(Object.entries(tenants).sort(([one], [other]) => (one < other ? -1 : 1)));

export const sameTenants = (one: ConfiguredTenants, other: ConfiguredTenants): boolean =>
  spelled(one) === spelled(other);
