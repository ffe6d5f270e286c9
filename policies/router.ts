// The router's policy: what the learner publishes as a Policy record named "router" and plan routes
// by. This file is the codec of its body.
import { z } from "zod";
import type { Posterior } from "../algorithms/bandit.ts";
import { FEATURE_COUNT, FEATURE_VERSION } from "../algorithms/features.ts";
import { packedIndex, packedLength } from "../algorithms/matrix.ts";
import type { Policy } from "../schemas/types.ts";
import { decodePolicyBody, type PolicyProblem } from "./record.ts";

export const ROUTER = "router";
/**
 * How to read the body: the mean and the packed lower Cholesky factor of the precision, of each arm
 * and of arms that are not in it.
 */
export const ROUTER_KIND = "bayesian-linear@2";

/** What is learnt of one arm. */
export interface ArmPosterior extends Posterior {
  /** The model it was learnt from: another one under the same name starts from the prior. */
  model: string;
  /** Weighted number of rewards in it. */
  count: number;
}

export interface RouterPolicy {
  /** 0: nothing learnt yet, every arm has the prior. */
  version: number;
  featureVersion: number;
  /** Newest reward in it, milliseconds since the epoch. */
  trainedThrough: number | null;
  arms: ReadonlyMap<string, ArmPosterior>;
  /** Of arms that are not in it; absent: what the configuration says. */
  prior?: Posterior;
}

export const priorPolicy: RouterPolicy = {
  version: 0,
  featureVersion: FEATURE_VERSION,
  trainedThrough: null,
  arms: new Map(),
};

const numbers = (length: number) => z.array(z.number()).length(length);
const bodySchema = z.strictObject({
  dimension: z.literal(FEATURE_COUNT),
  arms: z.record(
    z.string(),
    z.strictObject({
      model: z.string(),
      count: z.number().min(0),
      mean: numbers(FEATURE_COUNT),
      factor: numbers(packedLength(FEATURE_COUNT)),
    }),
  ),
  prior: z.strictObject({ mean: numbers(FEATURE_COUNT), factor: numbers(packedLength(FEATURE_COUNT)) }).optional(),
});

/** JSON of the posteriors; numbers survive exactly. Throws RangeError when one is not finite. */
export function encodeRouterBody(arms: ReadonlyMap<string, ArmPosterior>, prior?: Posterior): string {
  const entries = [...arms].map(([arm, { model, count, mean, factor }]) => {
    const body = { model, count, mean: Array.from(mean), factor: Array.from(factor) };
    if (![...body.mean, ...body.factor, count].every(Number.isFinite))
      throw new RangeError(`the posterior of ${arm} is not finite`);
    return [arm, body] as const;
  });
  const unknown = prior && { mean: Array.from(prior.mean), factor: Array.from(prior.factor) };
  if (unknown && ![...unknown.mean, ...unknown.factor].every(Number.isFinite))
    throw new RangeError("the prior of arms without rewards is not finite");
  return JSON.stringify({ dimension: FEATURE_COUNT, arms: Object.fromEntries(entries), prior: unknown });
}

/** The policy of a record, or why this process can't use it. */
export function decodeRouterPolicy(record: Policy): RouterPolicy | PolicyProblem {
  const expected = { name: "router policy", kind: ROUTER_KIND, featureVersion: FEATURE_VERSION };
  const decoded = decodePolicyBody(record, bodySchema, expected);
  if ("problem" in decoded) return decoded;
  return {
    version: record.version,
    featureVersion: record.featureVersion,
    trainedThrough: record.trainedThrough,
    arms: new Map(Object.entries(decoded.body.arms)),
    ...(decoded.body.prior === undefined ? {} : { prior: decoded.body.prior }),
  };
}

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
