// The router's policy: what the learner publishes as a Policy record named "router" and plan routes
// by. This file is the codec of its body.
import { z } from "zod";
import type { Posterior } from "../../algorithms/routing/bandit.ts";
import type { DomainShift } from "../../algorithms/routing/domain-shifts.ts";
import { FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { packedIndex, packedLength } from "../../algorithms/numeric/matrix.ts";
import type { Policy } from "../../schemas/types.ts";
import { decodePolicyBody, type PolicyProblem } from "./record.ts";

export const ROUTER = "router";
/** Body: mean and packed lower Cholesky factor, of each arm and of unknown ones. */
export const ROUTER_KIND = "bayesian-linear@2";

export interface ArmPosterior extends Posterior {
  /** The model it was learnt from: another one under the same name starts from the prior. */
  model: string;
  count: number;
}

export interface Beliefs {
  arms: ReadonlyMap<string, ArmPosterior>;
  /** Prior of arms that are not in it; absent: what the configuration says. */
  prior?: Posterior;
  /** What the sharing domain of the request changes; absent: nothing. */
  here?: DomainBeliefs | undefined;
}

export interface DomainBeliefs {
  arms: ReadonlyMap<string, DomainShift>;
  /** Prior of arms without rewards. */
  prior: DomainShift;
}

export interface RouterPolicy extends Omit<Beliefs, "here"> {
  /** 0: nothing learnt yet, every arm has the prior. */
  version: number;
  featureVersion: number;
  /** Newest reward in it, milliseconds since the epoch. */
  trainedThrough: number | null;
  /** By tenant (`routing.statistics: tenant`); `arms` is empty then. */
  tenants?: ReadonlyMap<string, Beliefs>;
  /** Effects of the sharing domains with the most rewards; others are as all of them together. */
  domains?: ReadonlyMap<string, DomainBeliefs>;
}

export const priorPolicy: RouterPolicy = {
  version: 0,
  featureVersion: FEATURE_VERSION,
  trainedThrough: null,
  arms: new Map(),
};

const nothing: Beliefs = { arms: new Map() };

/** Beliefs for a tenant's requests in a domain; by tenant an unknown one has the prior. */
export function beliefsOf({ arms, prior, tenants, domains }: RouterPolicy, tenant: string, domain: string): Beliefs {
  if (tenants !== undefined) return tenants.get(tenant) ?? nothing;
  return { arms, ...(prior && { prior }), here: domains?.get(domain) };
}

/** The policy where tenants share nothing: one of all tenants is as good as none. */
export const withoutShared = (policy: RouterPolicy): RouterPolicy =>
  policy.tenants === undefined ? { ...priorPolicy, featureVersion: policy.featureVersion, tenants: new Map() } : policy;

const numbers = (length: number) => z.array(z.number()).length(length);
const posterior = { mean: numbers(FEATURE_COUNT), factor: numbers(packedLength(FEATURE_COUNT)) };
const beliefs = {
  arms: z.record(z.string(), z.strictObject({ model: z.string(), count: z.number().min(0), ...posterior })),
  prior: z.strictObject(posterior).optional(),
};
const shift = z.strictObject({ mean: z.number(), variance: z.number().min(0), covariance: numbers(FEATURE_COUNT) });
type Shift = z.infer<typeof shift>;

const bodySchema = z.strictObject({
  dimension: z.literal(FEATURE_COUNT),
  ...beliefs,
  tenants: z.record(z.string(), z.strictObject(beliefs)).optional(),
  domains: z.record(z.string(), z.strictObject({ arms: z.record(z.string(), shift), prior: shift })).optional(),
});
type Body = z.infer<typeof bodySchema>;
type BeliefsBody = Pick<Body, "arms" | "prior">;

type Learnt = Pick<RouterPolicy, "arms" | "prior" | "tenants" | "domains">;

/** JSON of the posteriors; numbers survive exactly. Throws RangeError when one is not finite. */
export function encodeRouterBody({ arms, prior, tenants, domains }: Learnt): string {
  return JSON.stringify({
    dimension: FEATURE_COUNT,
    ...bodyOf({ arms, ...(prior && { prior }) }),
    tenants: tenants && Object.fromEntries([...tenants].map(([tenant, own]) => [tenant, bodyOf(own)])),
    domains:
      domains &&
      Object.fromEntries(
        [...domains].map(([domain, own]) => [
          domain,
          {
            arms: Object.fromEntries([...own.arms].map(([arm, one]) => [arm, shiftOf(one)])),
            prior: shiftOf(own.prior),
          },
        ]),
      ),
  });
}

function shiftOf({ mean, variance, covariance }: DomainShift): Shift {
  const body = { mean, variance, covariance: Array.from(covariance) };
  if (![mean, variance, ...body.covariance].every(Number.isFinite))
    throw new RangeError("what a domain changes is not finite");
  return body;
}

function bodyOf({ arms, prior }: Beliefs): BeliefsBody {
  const entries = [...arms].map(([arm, { model, count, mean, factor }]) => {
    const body = { model, count, mean: Array.from(mean), factor: Array.from(factor) };
    if (![...body.mean, ...body.factor, count].every(Number.isFinite))
      throw new RangeError(`the posterior of ${arm} is not finite`);
    return [arm, body] as const;
  });
  const unknown = prior && { mean: Array.from(prior.mean), factor: Array.from(prior.factor) };
  if (unknown && ![...unknown.mean, ...unknown.factor].every(Number.isFinite))
    throw new RangeError("the prior of arms without rewards is not finite");
  return { arms: Object.fromEntries(entries), ...(unknown && { prior: unknown }) };
}

export function decodeRouterPolicy(record: Policy): RouterPolicy | PolicyProblem {
  const expected = { name: "router policy", kind: ROUTER_KIND, featureVersion: FEATURE_VERSION };
  const decoded = decodePolicyBody(record, bodySchema, expected);
  if ("problem" in decoded) return decoded;
  const { tenants, domains, ...shared } = decoded.body;
  return {
    version: record.version,
    featureVersion: FEATURE_VERSION,
    trainedThrough: record.trainedThrough,
    ...beliefsIn(shared),
    ...(domains && {
      domains: new Map(
        Object.entries(domains).map(([domain, own]) => [
          domain,
          { arms: new Map(Object.entries(own.arms)), prior: own.prior },
        ]),
      ),
    }),
    ...(tenants && { tenants: new Map(Object.entries(tenants).map(([tenant, own]) => [tenant, beliefsIn(own)])) }),
  };
}

const beliefsIn = ({ arms, prior }: BeliefsBody): Beliefs => ({
  arms: new Map(Object.entries(arms)),
  ...(prior === undefined ? {} : { prior }),
});

/** Every posterior there is, of all tenants; by names that differ where tenant or arm do. */
export const allArms = ({
  arms,
  tenants,
}: Pick<RouterPolicy, "arms" | "tenants">): ReadonlyMap<string, ArmPosterior> =>
  tenants === undefined
    ? arms
    : new Map(
        [...tenants].flatMap(([tenant, own]) =>
          [...own.arms].map(([arm, posterior]) => [JSON.stringify([tenant, arm]), posterior] as const),
        ),
      );

/** Whether two posteriors are the same but for rounding: sums come in another order every time. */
export function sameArms(one: ReadonlyMap<string, ArmPosterior>, other: ReadonlyMap<string, ArmPosterior>): boolean {
  if (one.size !== other.size) return false;
  return [...one].every(([arm, posterior]) => {
    const twin = other.get(arm);
    if (twin === undefined || twin.model !== posterior.model || !close(twin.count, posterior.count, 1)) return false;
    const scale = Math.sqrt(posterior.factor[packedIndex(0, 0)] ?? 1);
    return allClose(posterior.mean, twin.mean, 1) && allClose(posterior.factor, twin.factor, Math.max(1, scale));
  });
}

const close = (a: number, b: number, scale: number): boolean =>
  Math.abs(a - b) <= 1e-10 * Math.max(scale, Math.abs(a), Math.abs(b));
const allClose = (a: ArrayLike<number>, b: ArrayLike<number>, scale: number): boolean =>
  a.length === b.length && Array.from(a).every((value, i) => close(value, b[i] ?? Number.NaN, scale));
