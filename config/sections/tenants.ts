// Tenants that write to Kafka themselves, each to topics of its own.
import { z } from "zod";
import { noTenant } from "../../algorithms/selection/shared-domains.ts";

/** Wildcard principal of Kafka's ACLs. */
const anybody = "User:*";

/** Each has four topics, or five. */
export const mostTenants = 1_000;

/** By name; which names there may be: config/tenant-names.ts. */
export const tenants = z.record(
  z.string(),
  z.strictObject({
    /**
     * Kafka principal for which `precedent topology --acls` prints what the tenant needs, User:NAME
     * or the name of a certificate; absent: nothing is printed for it.
     */
    principal: z
      .string()
      // It goes into commands for a shell, between quotes.
      .regex(/^User:[^"'`$\\!\p{Cc}]{1,500}$/u, 'User:NAME, without quotes, "$", "!" and backslashes')
      .refine((principal) => principal !== anybody, `${anybody} is everybody: name one principal`)
      .optional(),
    /**
     * Whether pieces of its answers under way are copied to a topic of its own, deltas.TENANT, for
     * requests that ask for them.
     */
    deltas: z.boolean().default(false),
  }),
);

const member = z
  .string()
  .min(1)
  .refine((name) => name !== noTenant, `"${noTenant}" is the tenant of synthetic examples: name another`);

const sharedDomain = z.strictObject({
  /** "all" is every tenant. */
  tenants: z.union([z.literal("all"), z.array(member).min(2)]),
  /**
   * The members' own examples are not shown to others: what they share is made by
   * `precedent examples synthesize`, (epsilon, delta)-differentially private for every example.
   */
  synthetic: z
    .strictObject({
      /** Privacy budget of all runs together. */
      epsilon: z.number().positive().max(50),
      delta: z.number().positive().max(0.01),
      /** What questions are about, in words that are no secret: they are made of it. */
      about: z.string().min(1).max(1_000),
    })
    .optional(),
});

/**
 * Domains whose examples tenants share, by name. Members see each other's requests and answers, so
 * only for tenants that agreed.
 */
export const sharing = z.record(z.string().min(1), sharedDomain);
