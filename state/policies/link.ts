// The policies `link/<arm>`: which policy of linked prefill an arm's process chose, with what it
// measured. Only operators read them on the topic, so no writer needs to fence another.
import type { Policy } from "../../schemas/types.ts";
import { policyRecord } from "./record.ts";

export const linkPolicyName = (arm: string): string => `link/${arm}`;
export const isLinkPolicy = (name: string): boolean => name.startsWith("link/");

export interface LinkBody {
  /** Kind of chunk: short or long. */
  chunks: string;
  policy: string;
  model: string;
  convention: string;
  /** auto's, nats. */
  bound: number;
}

/** Versions are times: processes of an arm don't know each other. */
export const encodeLinkPolicy = (
  arm: string,
  body: LinkBody,
  metrics: Record<string, number>,
  createdAt: number,
): Policy =>
  policyRecord({
    name: linkPolicyName(arm),
    version: createdAt,
    kind: "link/1",
    body: JSON.stringify(body),
    metrics,
    createdAt,
  });
