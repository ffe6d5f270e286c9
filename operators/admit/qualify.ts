// Which candidates can't become examples, whatever the pool holds: pure rules over one answer.
import { withheldText } from "../../algorithms/privacy/mask.ts";
import { finishReasonOf } from "../../algorithms/text/finish-reason.ts";
import { isSynthetic } from "../../algorithms/selection/shared-domains.ts";
import type { Candidate } from "./candidates.ts";

export interface AdmissionRules {
  /** [0, 1]. */
  minimumQuality: number;
  arms?: readonly string[] | undefined;
  tenants?: readonly string[] | undefined;
  /** Limit of the bytes of request and response together. */
  maxBytes: number;
}

export type Refusal =
  | "private"
  | "tenant"
  | "arm"
  | "conversation"
  | "documents"
  | "cut_off"
  | "empty"
  | "too_large"
  | "withheld"
  | "unrated"
  | "quality"
  | "near_duplicate"
  // Only feedback tokens say so, and no key of the tenant.
  | "unconfirmed"
  // Deciding on it failed again and again (decide.ts).
  | "failed";

/** The question of the answer; null where it is no single question. */
export function questionOf({ messages }: Pick<Candidate, "messages">): string | null {
  const turns = messages.filter(({ role }) => role !== "system");
  const [only] = turns;
  return turns.length === 1 && only?.role === "user" ? only.content : null;
}

/** Why it can't be kept; quality is checked apart. */
export function refusalOf(candidate: Candidate, rules: AdmissionRules): Refusal | null {
  const { privacyCache, privacyShare, tenant, arm, documents, finishReason, text } = candidate;
  if (!privacyCache || !privacyShare) return "private";
  // What is synthetic is of no tenant, and of no configured arm perhaps.
  const isOurs = isSynthetic(candidate);
  if (!isOurs && rules.tenants !== undefined && !rules.tenants.includes(tenant)) return "tenant";
  // A person is no arm.
  const anyArm = rules.arms === undefined || candidate.source === "correction" || isOurs;
  if (!anyArm && !rules.arms?.includes(arm)) return "arm";
  const question = questionOf(candidate);
  if (question === null) return "conversation";
  if (documents > 0) return "documents";
  if (finishReason !== null && finishReasonOf(finishReason) !== "stop") return "cut_off";
  // Recorded without what it says (privacy.redact).
  if (question.includes(withheldText) || text.includes(withheldText)) return "withheld";
  if (question.trim() === "" || text.trim() === "") return "empty";
  if (Buffer.byteLength(question) + Buffer.byteLength(text) > rules.maxBytes) return "too_large";
  return null;
}
