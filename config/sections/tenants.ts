// Tenants that write to Kafka themselves, each to topics of its own.
import { z } from "zod";

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
