// Keys as read. Refused once its revocation is read or it expires. Once any key was read requests
// need one: revoking the last opens nothing.
import type { ApiKey } from "../../schemas/types.ts";
import { accountOf, isSecret, parseHash, parseKey } from "./key.ts";
import { createKeyLimits, type KeyLimits, type LimitsDependencies } from "./limits.ts";
import { isRevoked } from "./manage.ts";

export interface ValidKey {
  key: ApiKey;
  limits: KeyLimits;
}

export interface KeyTable {
  /** Its problem; null: none. A key with a problem is held, and refused. */
  apply(id: string, key: ApiKey): string | null;
  remove(id: string): void;
  /** null: there is no such key, or none any more. */
  find(text: string): ValidKey | null;
  /** Whether the key of this id is one still. */
  isValid(id: string): boolean;
  /** The newest valid key of an account, which rotated keys share; null: none is valid. */
  ofAccount(tenant: string, account: string): ValidKey | null;
  /** Revoked ones included. */
  size(): number;
}

export interface TableDependencies extends LimitsDependencies {
  now: () => number;
}

interface Entry {
  key: ApiKey;
  /** null: it is refused. */
  hash: Buffer | null;
  limits: KeyLimits;
}

export function createKeyTable({ now, ...limits }: TableDependencies): KeyTable {
  const entries = new Map<string, Entry>();
  const isOver = (key: ApiKey): boolean => isRevoked(key, now());

  return {
    apply(id, key) {
      // An admin key belongs to no tenant: no command makes one that does.
      const hash = id === key.id && key.admin === (key.tenant === "") ? parseHash(key.hash) : null;
      const known = entries.get(id);
      if (known !== undefined) Object.assign(known, { key, hash });
      else {
        const entry: Entry = { key, hash, limits: createKeyLimits(() => entry.key, limits) };
        entries.set(id, entry);
      }
      return hash === null ? "its id, its tenant or its hash is none: it is refused" : null;
    },
    remove: (id) => void entries.delete(id),
    find(text) {
      const parsed = parseKey(text);
      if (parsed === null) return null;
      const entry = entries.get(parsed.id);
      if (!isSecret(parsed.secret, entry?.hash ?? null) || entry === undefined) return null;
      return isOver(entry.key) ? null : entry;
    },
    isValid(id) {
      const entry = entries.get(id);
      return entry !== undefined && entry.hash !== null && !isOver(entry.key);
    },
    ofAccount(tenant, account) {
      const valid = [...entries.values()].filter(
        ({ key, hash }) => key.tenant === tenant && accountOf(key) === account && hash !== null && !isOver(key),
      );
      return valid.toSorted((a, b) => b.key.createdAt - a.key.createdAt)[0] ?? null;
    },
    size: () => entries.size,
  };
}
