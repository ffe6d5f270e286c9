// What the configuration says about tenants.
import type { Config } from "./schema.ts";

/** A tenant's share where tenants wait for each other; 1 where nothing is said. */
export const tenantWeight =
  ({ tenantWeights }: Pick<Config["limits"], "tenantWeights">) =>
  (tenant: string): number =>
    (Object.hasOwn(tenantWeights, tenant) ? tenantWeights[tenant] : undefined) ?? 1;

export const tenantsOf = (config: Pick<Config, "tenants">): string[] => Object.keys(config.tenants);

export const streamingTenantsOf = ({ tenants }: Pick<Config, "tenants">): string[] =>
  Object.keys(tenants).filter((name) => tenants[name]?.deltas === true);

/** Owners of topics of their own: these arms, and the configured tenants. */
export const topicOwners = (config: Pick<Config, "tenants">, arms: readonly string[]) => ({
  arms,
  tenants: tenantsOf(config),
  streaming: streamingTenantsOf(config),
});
