// Domains whose examples tenants share, by name; "all": every tenant. Members see each other's
// requests and answers, so only for tenants that agreed.
import { z } from "zod";
import { noTenant } from "../../algorithms/selection/shared-domains.ts";

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

/** By the name of the domain. */
export const sharing = z.record(z.string().min(1), sharedDomain);
