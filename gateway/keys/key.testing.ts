// A key's record for tests: tenant acme, no limits of any kind.
import type { ApiKey } from "../../schemas/types.ts";
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

export const noSpendLimits: HoldSpending = () => Promise.resolve(() => undefined);
