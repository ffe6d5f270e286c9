// What a reuse arm is set to, and which requests it may answer (docs/arms.md, reuse). Pure.
import { estimateTokens } from "../../algorithms/text/tokens.ts";
import type { ReuseArmConfig } from "../../config/schema.ts";
import type { Request } from "../../schemas/types.ts";

export type ReuseSettings = Pick<
  ReuseArmConfig,
  "tenants" | "minimumSimilarity" | "minimumQuality" | "verifyShare" | "limit"
>;

type Asking = Pick<Request, "tenant" | "messages" | "documents" | "params" | "privacy" | "passthrough" | "requires">;

/**
 * Only if the question is the whole request: one user turn, no system message, no documents, no
 * passthrough. Never for a request that is private, sampled or wants a fresh answer.
 */
export function mayReuse(
  { tenant, messages, documents, params, privacy, passthrough, requires }: Asking,
  settings: ReuseSettings,
): boolean {
  if (!settings.tenants.includes(tenant) && !settings.tenants.includes("*")) return false;
  if (privacy.fresh || !privacy.cache || !privacy.share) return false;
  if (passthrough !== null || requires.length > 0 || documents.length > 0) return false;
  if (params.temperature !== null && params.temperature > 0 && params.seed === null) return false;
  return messages.length === 1 && messages[0]!.role === "user";
}

export const fitsRequest = (answer: string, { maxTokens, stop }: Request["params"]): boolean =>
  (maxTokens === null || estimateTokens(answer) <= maxTokens) &&
  !stop.some((one) => one !== "" && answer.includes(one));
