// Keys of the gateway on the page: what precedent keys lists, creates, limits and revokes.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import type { ApiKey } from "../../../schemas/types.ts";
import type { Changes, Grants } from "../../keys/grants.ts";
import { idOfKey } from "../../keys/key.ts";
import { createKey, isRevoked, KeyRefused, readKeys, revokeKeys, updateKey } from "../../keys/manage.ts";
import { readSpent, type SpentBy } from "../../keys/spent.ts";
import type { KeyFilter } from "./filters.ts";

export interface KeyRow extends Omit<ApiKey, "hash" | "account"> {
  isValid: boolean;
  /** In the prices' currency, today and this month of UTC; null: not known, or an admin key. */
  spent: { day: number; month: number } | null;
}

export interface KeyList {
  /** The newest first. */
  keys: KeyRow[];
  /** Keys that fit the filter; more than are listed where they are many. */
  found: number;
  /** Whether there is any key; without one the page needs none. */
  hasKeys: boolean;
}

export type Keys = ReturnType<typeof createPageKeys>;

export interface KeysDependencies {
  session: Parameters<typeof readKeys>[0];
  clickhouse: Pick<ClickHouse, "query">;
  arms: () => readonly string[];
  clock: () => number;
}

const mostShown = 200;

export function createPageKeys({ session, clickhouse, arms, clock }: KeysDependencies) {
  const { log } = session;
  let last: Promise<unknown> = Promise.resolve();
  /** Serialised: each act reads the keys that it changes. */
  const inTurn = <T>(act: () => Promise<T>): Promise<T> => {
    const done = last.then(act);
    last = done.catch(() => undefined);
    return done;
  };
  const rowOf = (whole: ApiKey, spentBy: SpentBy | null = null): KeyRow => {
    const { hash: _hash, account: _account, ...key } = whole;
    return {
      ...key,
      isValid: !isRevoked(whole, clock()),
      spent: key.admin ? null : (spentBy?.(whole) ?? null),
    };
  };
  return {
    async list({ search = "", all }: KeyFilter): Promise<KeyList> {
      const keys = await readKeys(session);
      const words = search.toLowerCase();
      const fits = ({ id, tenant, label }: ApiKey): boolean =>
        [id, tenant, label].some((text) => text.toLowerCase().includes(words));
      const found = keys.filter((key) => fits(key) && (all === "yes" || !isRevoked(key, clock()))).toReversed();
      const shown = found.slice(0, mostShown);
      const spentBy = await readSpent(clickhouse, shown, clock());
      return { keys: shown.map((key) => rowOf(key, spentBy)), found: found.length, hasKeys: keys.length > 0 };
    },
    /**
     * text: the key itself, which is stored nowhere. Rejects with KeyRefused, as the next two do.
     */
    create: (grants: Grants): Promise<{ key: KeyRow; text: string }> =>
      inTurn(async () => {
        const check = (known: readonly ApiKey[]): void => {
          if (grants.admin !== true && known.length === 0) throw new KeyRefused(locksOut);
        };
        const { key, text } = await createKey(session, grants, { arms: arms(), now: clock(), check });
        log.info({ key: key.id, tenant: key.tenant, admin: key.admin }, "a key was created on the page");
        return { key: rowOf(key), text };
      }),
    limit: (id: string, changes: Changes): Promise<KeyRow> =>
      inTurn(async () => {
        const key = await updateKey(session, id, changes, clock());
        log.info({ key: key.id, ...changes }, "limits of a key were changed on the page");
        return rowOf(key);
      }),
    revoke: (id: string): Promise<KeyRow> =>
      inTurn(async () => {
        const check = (known: readonly ApiKey[]): void => {
          const admins = known.filter((key) => key.admin && !isRevoked(key, clock()));
          const isAdmin = admins.some((key) => key.id === idOfKey(id));
          // One that was rotated ends by itself.
          const isOther = admins.some((key) => key.id !== idOfKey(id) && key.expiresAt === null);
          if (isAdmin && !isOther) throw new KeyRefused(lastAdmin);
        };
        const [key] = await revokeKeys(session, [id], { now: clock(), check });
        log.info({ key: key?.id }, "a key was revoked on the page");
        return rowOf(key!);
      }),
  };
}

const locksOut =
  "create an admin key first: from the first key on this page needs one, and you would have none to open it with";
const lastAdmin =
  "this is the only admin key that lasts: create another one first, or this page closes for all (precedent keys revoke does it)";
