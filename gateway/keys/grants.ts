// Makes records of keys from what commands and the page grant, change and rotate. Pure.
import { nameProblem } from "../../algorithms/identity/names.ts";
import { accountOf } from "./key.ts";
import type { ApiKey } from "../../schemas/types.ts";

export interface Grants {
  tenant?: string;
  admin?: boolean;
  label: string;
  arm?: string[];
  domain?: string[];
  requestsPerMinute?: number;
  tokensPerMinute?: number;
  spendLimitPerDay?: number;
  spendLimitPerMonth?: number;
}
/** "none": removes the limit. */
export type Changes = { [L in keyof Limits]?: Limits[L] | "none" };
type Limits = Required<
  Pick<Grants, "requestsPerMinute" | "tokensPerMinute" | "spendLimitPerDay" | "spendLimitPerMonth">
>;

const mostPerMinute = 2 ** 31 - 1;

/** null: none. */
export function problemOf(grants: Grants, arms: readonly string[]): string | null {
  if (grants.admin === true && forTenants.some((name) => grants[name] !== undefined))
    return "--admin: such a key has no tenant, arms, domains or limits";
  if (grants.tenant?.trim() === "") return "--tenant: a tenant has a name";
  const unknown = grants.arm?.find((arm) => !arms.includes(arm));
  if (unknown !== undefined) return `--arm ${unknown}: there are ${arms.join(", ")}`;
  const tooMuch = limitProblem(grants);
  if (tooMuch !== null) return tooMuch;
  return nameProblem({
    "--tenant": tenantOf(grants),
    "--label": grants.label,
    ...Object.fromEntries((grants.domain ?? []).map((domain, index) => [`--domain, name ${index + 1},`, domain])),
  });
}

/** null: none. */
export function limitProblem({ requestsPerMinute, tokensPerMinute }: Changes): string | null {
  const isTooMuch = [requestsPerMinute, tokensPerMinute].some((one) => typeof one === "number" && one > mostPerMinute);
  return isTooMuch ? `a limit is at most ${mostPerMinute} a minute` : null;
}

const limits = ["requestsPerMinute", "tokensPerMinute", "spendLimitPerDay", "spendLimitPerMonth"] as const;
const forTenants = ["tenant", "arm", "domain", ...limits] as const;
const tenantOf = ({ tenant = "default", admin = false }: Grants): string => (admin ? "" : tenant);
export const ownerOf = ({ admin, tenant }: ApiKey): string => (admin ? "for operators" : `of the tenant ${tenant}`);

type Made = Pick<ApiKey, "id" | "hash">;

export const keyOf = ({ arm, domain, ...grants }: Grants, made: Made, now: number): ApiKey => ({
  ...made,
  tenant: tenantOf(grants),
  admin: grants.admin ?? false,
  label: grants.label,
  arms: arm ?? null,
  domains: domain ?? null,
  requestsPerMinute: grants.requestsPerMinute ?? null,
  tokensPerMinute: grants.tokensPerMinute ?? null,
  account: null,
  spendLimitPerDay: grants.spendLimitPerDay ?? null,
  spendLimitPerMonth: grants.spendLimitPerMonth ?? null,
  ...{ createdAt: now, expiresAt: null, revokedAt: null },
});

export const updated = (old: ApiKey, changes: Changes): ApiKey => ({
  ...old,
  ...Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, value === "none" ? null : value])),
});

/** The new key, which inherits the old one's spending, then the old one. */
export function rotated(old: ApiKey, made: Made, { now, overlap }: { now: number; overlap?: number | undefined }) {
  const next: ApiKey = { ...old, ...made, account: accountOf(old), createdAt: now };
  const end =
    overlap === undefined ? { revokedAt: now } : { expiresAt: Math.min(now + overlap, old.expiresAt ?? Infinity) };
  // The new key does not inherit the old one's end.
  return [
    { ...next, expiresAt: null },
    { ...old, ...end },
  ] as const;
}
