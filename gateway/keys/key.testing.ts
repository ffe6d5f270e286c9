// A key's record for tests: tenant acme, no limits.
import type { ApiKey } from "../../schemas/types.ts";

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
  createdAt: 0,
  expiresAt: null,
  revokedAt: null,
  ...change,
});
