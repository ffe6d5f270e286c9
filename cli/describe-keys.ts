// Keys as a table for people.
import { withoutControls } from "../algorithms/text/printable.ts";
import type { ApiKey } from "../schemas/types.ts";
import { isRevoked } from "../gateway/keys/manage.ts";
import type { SpentBy } from "../gateway/keys/spent.ts";
import { tableOf } from "./reading.ts";

/** `spentBy`: null where spending is unknown. */
export function describeKeys(keys: readonly ApiKey[], now: number, spentBy: SpentBy | null): string {
  if (keys.length === 0) return "no keys: the gateway serves clients on its own machine (precedent keys create)\n";
  return tableOf(
    ["id", "tenant", "label", "arms", "domains", "requests/min", "tokens/min", ...spentColumns, "made", "state"],
    keys.map((key) => [
      ...[
        key.id,
        key.admin ? "(admin)" : key.tenant,
        withoutControls(key.label),
        ...grantsOf(key),
        ...spendingOf(key, spentBy),
      ],
      ...[minutes(key.createdAt), stateOf(key, now)],
    ]),
  );
}

const grantsOf = (key: ApiKey): string[] =>
  key.admin
    ? ["", "", "", ""]
    : [names(key.arms), names(key.domains), limit(key.requestsPerMinute), limit(key.tokensPerMinute)];

const spentColumns = ["spent today", "this month"];
function spendingOf(key: ApiKey, spentBy: SpentBy | null): string[] {
  if (key.admin) return spentColumns.map(() => "");
  const spent = spentBy?.(key);
  return [ofSpendLimit(spent?.day, key.spendLimitPerDay), ofSpendLimit(spent?.month, key.spendLimitPerMonth)];
}
function ofSpendLimit(spent: number | undefined, limit: number | null): string {
  const amount = spent === undefined ? "?" : String(Number(spent.toPrecision(6)));
  return limit === null ? amount : `${amount} of ${limit}`;
}
const names = (list: readonly string[] | null): string => list?.join(", ") ?? "any";
const limit = (perMinute: number | null): string => (perMinute === null ? "none" : String(perMinute));
const minutes = (at: number): string => new Date(at).toISOString().slice(0, 16).replace("T", " ");

function stateOf(key: ApiKey, now: number): string {
  if (key.revokedAt !== null) return `revoked ${minutes(key.revokedAt)}`;
  if (key.expiresAt === null) return "valid";
  return `${isRevoked(key, now) ? "expired" : "until"} ${minutes(key.expiresAt)}`;
}
