// What the configuration says about tenants, and what the names of those may be that have topics.
import type { z } from "zod";
import type { Config } from "./schema.ts";
import { mostTenants, type tenants } from "./sections/tenants.ts";

/** A tenant's share where tenants wait for each other; 1 where nothing is said. */
export const tenantWeight =
  ({ tenantWeights }: Pick<Config["limits"], "tenantWeights">) =>
  (tenant: string): number =>
    (Object.hasOwn(tenantWeights, tenant) ? tenantWeights[tenant] : undefined) ?? 1;

/** Those that have topics of their own. */
export const tenantsOf = (config: Pick<Config, "tenants">): string[] => Object.keys(config.tenants);

/** Those that have a topic of pieces of their answers. */
export const streamingTenantsOf = ({ tenants }: Pick<Config, "tenants">): string[] =>
  Object.keys(tenants).filter((name) => tenants[name]?.deltas === true);

/** Of whom there are topics of their own: of these arms, and of the tenants that are configured. */
export const topicOwners = (config: Pick<Config, "tenants">, arms: readonly string[]) => ({
  arms,
  tenants: tenantsOf(config),
  streaming: streamingTenantsOf(config),
});

/**
 * A part of names of topics and groups. No dot: where one ends and what follows begins must be
 * plain, and Kafka does not tell `a.b` from `a_b` in its metrics.
 */
const legal = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
/** Kafka's. */
const topicBytes = 249;
/** What stands between the prefix and the tenant at most. */
const longestBetween = "alternative-answers.".length;

interface Tenants {
  kafka: Pick<Config["kafka"], "prefix">;
  tenants: z.infer<typeof tenants>;
}

/** Each must be told from all others, by its topics and by its principal. */
export function refuseTenants({ kafka, tenants }: Tenants, refuse: (path: string[], message: string) => void): void {
  const names = Object.keys(tenants);
  if (names.length > mostTenants) refuse(["tenants"], `there are ${names.length}, and ${mostTenants} may have topics`);
  const spelled = new Map<string, string>();
  const principals = new Map<string, string>();
  for (const name of names) {
    const at = ["tenants", name];
    if (!legal.test(name)) {
      refuse(at, "can't be part of a topic's name: letters, digits, dashes and underscores, at most 64");
      continue;
    }
    if (kafka.prefix.length + longestBetween + name.length > topicBytes)
      refuse(
        at,
        `with kafka.prefix the names of its topics have more than ${topicBytes} characters: shorten one of them`,
      );
    const other = spelled.get(name.toLowerCase());
    if (other !== undefined) refuse(at, `differs from "${other}" in capitals alone: people would confuse them`);
    spelled.set(name.toLowerCase(), name);
    const principal = tenants[name]?.principal;
    if (principal === undefined) continue;
    const owner = principals.get(principal);
    if (owner !== undefined)
      refuse([...at, "principal"], `${principal} is the principal of "${owner}" already: it could write as both`);
    principals.set(principal, name);
  }
}
