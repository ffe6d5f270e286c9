// Splits of traffic that compare arms, by name (docs/experiments.md).
import { z } from "zod";
import { factor, name } from "./common.ts";

const variant = z.strictObject({
  name,
  /** Arms that answer its requests; absent: those of all other requests. */
  arms: z.array(name).min(1).max(64).optional(),
  /** In place of routing.costWeight and the tenant's. */
  costWeight: factor.optional(),
  /** Version of the router that routes it, frozen (`precedent policy pin`); 0: nothing learnt. */
  routerVersion: z.number().int().min(0).max(1_000_000_000).optional(),
  /** How many requests it gets, relative to the other variants. */
  weight: z.number().min(0.001).max(1_000).default(1),
});

export const experiment = z.strictObject({
  name,
  /** Share of the requests, users, sessions or tenants that take part. */
  share: z.number().min(0).max(1).default(1),
  /** What keeps its variant: a user (metadata.user), a session, a tenant, or each request alone. */
  by: z.enum(["request", "session", "user", "tenant"]).default("user"),
  /** Tenants whose requests take part; absent: all. */
  tenants: z.array(name).min(1).max(1_000).optional(),
  /** The first is the control, with which the others are compared. */
  variants: z.array(variant).min(2).max(16),
});

export type ExperimentConfig = z.infer<typeof experiment>;

/** Versions of the router that must be pinned (`precedent policy pin`). */
export const routerVersionsOf = (experiments: readonly ExperimentConfig[]): number[] => [
  ...new Set(experiments.flatMap(({ variants }) => variants.flatMap(({ routerVersion: of }) => (of ? [of] : [])))),
];

type Refuse = (path: (string | number)[], message: string) => void;

export function refuseExperiments(
  {
    experiments,
    arms,
  }: { experiments: readonly ExperimentConfig[]; arms: readonly { name: string; experimental: boolean }[] },
  refuse: Refuse,
): void {
  const known = new Set(arms.map((arm) => arm.name));
  if (arms.every(({ experimental }) => experimental))
    refuse(["arms"], "all are experimental: none is left for requests that name no arm");
  experiments.forEach((one, index) => {
    const at = ["experiments", index];
    if (experiments.findIndex((other) => other.name === one.name) !== index)
      refuse([...at, "name"], `"${one.name}" is the name of two experiments`);
    one.variants.forEach((its, place) => {
      if (one.variants.findIndex((other) => other.name === its.name) !== place)
        refuse([...at, "variants", place, "name"], `"${its.name}" is the name of two variants`);
      its.arms?.forEach((arm, which) => {
        if (!known.has(arm)) refuse([...at, "variants", place, "arms", which], `no arm is named "${arm}"`);
      });
    });
  });
}
