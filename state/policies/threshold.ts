// The policy `threshold`: the helpfulness tau below which no example is shown, learnt for all
// tenants together. This file is the codec of its body, and the state of a process that follows it.
import { z } from "zod";
import type { Policy } from "../../schemas/types.ts";
import { createNewest } from "./newest.ts";
import { decodePolicyBody, type PolicyProblem } from "./record.ts";

export const THRESHOLD = "threshold";
/** How to read the body: JSON of ThresholdBody. */
export const THRESHOLD_KIND = "threshold/1";
/** tau until another is learnt (IC-Cache §4.1); 0.5 is neutral. */
export const initialThreshold = 0.5;

const share = z.number().min(0).max(1);
const bodySchema = z.strictObject({
  threshold: share,
  /** How each tau did when this was decided: requests, mean net gain, one standard error of it. */
  grid: z
    .array(z.strictObject({ tau: share, requests: z.number().min(0), gain: z.number(), error: z.number().min(0) }))
    .max(1_000),
});
export type ThresholdBody = z.infer<typeof bodySchema>;

export const encodeThresholdBody = (body: ThresholdBody): string => JSON.stringify(bodySchema.parse(body));

/** The body, or why this process can't use the record. */
export function decodeThresholdPolicy(record: Policy): ThresholdBody | PolicyProblem {
  const decoded = decodePolicyBody(record, bodySchema, { name: THRESHOLD, kind: THRESHOLD_KIND });
  return "problem" in decoded ? decoded : decoded.body;
}

export function createThresholdTable() {
  const newest = createNewest(decodeThresholdPolicy, { threshold: initialThreshold, grid: [] });
  return {
    /** Takes a record; older versions are ignored. What is wrong with it, or null. */
    apply: (record: Policy): string | null => (newest.apply(record) ? newest.current().problem : null),
    /** A tombstone: back to the initial one. */
    remove: newest.remove,
    current: (): number => newest.current().value.threshold,
    version: (): number => newest.current().version,
  };
}
