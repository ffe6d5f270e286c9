// What all policies have in common as records of the topic `policies`: a process uses one only when
// its kind and its features are those it knows. Each policy's codec is a file of its own.
import type { z } from "zod";
import type { Policy } from "../../schemas/types.ts";

/** Why this process can't use the record; it stays with what it had. */
export interface PolicyProblem {
  problem: string;
}

interface Expected {
  name: string;
  kind: string;
  /** Version of the features that its body is about; undefined: of none. */
  featureVersion?: number;
}

/** What is wrong with the record but its body, or null. */
export function policyProblem(record: Policy, { name, kind, featureVersion }: Expected): PolicyProblem | null {
  const named = `${name} ${record.version}`;
  if (record.kind !== kind) return { problem: `${named} is of kind ${record.kind}; this process reads ${kind}` };
  if (featureVersion !== undefined && record.featureVersion !== featureVersion)
    return { problem: `${named} has features ${record.featureVersion}; this process has ${featureVersion}` };
  if (record.reference !== null)
    return { problem: `${named} lies at ${record.reference}; a ${record.name}'s body is never referenced` };
  return null;
}

/** The body of a policy that is written as JSON. */
export function decodePolicyBody<T extends object>(
  record: Policy,
  schema: z.ZodType<T>,
  expected: Expected,
): { body: T } | PolicyProblem {
  const problem = policyProblem(record, expected);
  if (problem !== null) return problem;
  const named = `${expected.name} ${record.version}`;
  let json: unknown;
  try {
    json = JSON.parse(record.body);
  } catch {
    return { problem: `${named} is no JSON` };
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return { body: parsed.data };
  const issue = parsed.error.issues[0];
  return { problem: `${named}: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? "malformed"}` };
}

/** A record of a policy for all tenants, whose body stands in it, and which is no revert. */
export const policyRecord = (
  record: Pick<Policy, "name" | "version" | "kind" | "body" | "createdAt"> & Partial<Policy>,
): Policy => ({
  tenant: "default",
  reference: null,
  hash: null,
  featureVersion: 0,
  trainedThrough: null,
  metrics: {},
  revertOf: null,
  ...record,
});
