// A key's record for tests: tenant acme, no limits of any kind.
import { estimateTokens, tokensPerTurn } from "../../algorithms/text/tokens.ts";
import type { ApiKey, Request } from "../../schemas/types.ts";
import type { HoldSpending } from "./spend-limits.ts";

export const plainKey = (change: Partial<ApiKey> = {}): ApiKey => ({
  id: "prk-000000000000",
  tenant: "acme",
  admin: false,
  hash: "0".repeat(64),
  label: "",
  arms: null,
  domains: null,
  requestsPerMinute: null,
  tokensPerMinute: null,
  account: null,
  spendLimitPerDay: null,
  spendLimitPerMonth: null,
  createdAt: 0,
  expiresAt: null,
  revokedAt: null,
  ...change,
});

/** As the only arm of a gateway has it that adds nothing to a prompt. */
export const mostTokens = ({ messages, params }: Pick<Request, "messages" | "params">): number =>
  messages.reduce((sum, { content }) => sum + estimateTokens(content) + tokensPerTurn, params.maxTokens ?? 0);

export const noSpendLimits: HoldSpending = () => Promise.resolve(() => undefined);
