// What the configuration says about tenants.
import type { Config } from "./schema.ts";

/** A tenant's share where tenants wait for each other; 1 where nothing is said. */
export const tenantWeight =
  ({ tenantWeights }: Pick<Config["limits"], "tenantWeights">) =>
  (tenant: string): number =>
    (Object.hasOwn(tenantWeights, tenant) ? tenantWeights[tenant] : undefined) ?? 1;
