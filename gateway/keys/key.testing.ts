// A key's record for tests: tenant acme, no limits; and budgets that nobody has.
import type { ApiKey } from "../../schemas/types.ts";
import type { HoldBudget } from "./budgets.ts";

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
  budgetPerDay: null,
  budgetPerMonth: null,
  createdAt: 0,
  expiresAt: null,
  revokedAt: null,
  ...change,
});

export const noBudgets: HoldBudget = () => Promise.resolve(() => undefined);
