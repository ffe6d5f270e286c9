// Creates, changes, rotates and revokes keys, for `precedent keys` and the page: records on the
// topic `keys`, by key id. Gateways apply a change a moment later.
import { sendOnce } from "../../runtime/send-once.ts";
import { readTable } from "../../runtime/table.ts";
import type { ApiKey } from "../../schemas/types.ts";
import type { SessionOf } from "../../state/session.ts";
import { keyOf, limitProblem, problemOf, rotated, updated, type Changes, type Grants } from "./grants.ts";
import { idOfKey, newKey } from "./key.ts";

type KeySession = Pick<SessionOf<{ tables: ["keys"]; outputs: ["keys"] }>, "kafka" | "codec" | "log" | "topic">;

/** The act is impossible; the message says why. isWrong: the input is invalid by itself. */
export class KeyRefused extends Error {
  override name = "KeyRefused";
  constructor(
    message: string,
    readonly isWrong = false,
  ) {
    super(message);
  }
}

/** Every gateway holds all of them. */
const mostKeys = 10_000;

export const isRevoked = ({ revokedAt, expiresAt }: ApiKey, now: number): boolean =>
  revokedAt !== null || (expiresAt !== null && expiresAt <= now);

/** The oldest first. */
export async function readKeys({ kafka, codec, log, topic }: KeySession): Promise<ApiKey[]> {
  const found = await readTable({ kafka, codec, log, topic: topic("keys"), record: "keys" });
  return [...found.values()].toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
}

/** Resolves when the brokers have acknowledged it. */
async function writeKeys({ kafka, codec, topic }: KeySession, keys: readonly ApiKey[]): Promise<void> {
  const messages = keys.map((key) => ({ topic: topic("keys"), key: key.id, value: codec.encode("keys", key) }));
  await sendOnce(kafka, messages);
}

/** names: ids or whole keys. Throws KeyRefused for unknown ones. */
export function findKeys(keys: readonly ApiKey[], names: readonly string[]): ApiKey[] {
  const byId = new Map(keys.map((key) => [key.id, key]));
  const ids = [...new Set(names.map(idOfKey))];
  const unknown = ids.filter((id) => !byId.has(id));
  if (unknown.length > 0) throw new KeyRefused(`there is no key ${unknown.join(", ")}: precedent keys list`);
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** A key and its text, which is stored nowhere. */
export interface MadeKey {
  key: ApiKey;
  text: string;
}

/** check: throws if the act is not allowed with these keys. Rejects with KeyRefused. */
export async function createKey(
  session: KeySession,
  grants: Grants,
  { arms, now, check }: { arms: readonly string[]; now: number; check?: (known: readonly ApiKey[]) => void },
): Promise<MadeKey> {
  const problem = problemOf(grants, arms);
  if (problem !== null) throw new KeyRefused(problem, true);
  const known = await readKeys(session);
  if (known.length >= mostKeys) throw new KeyRefused(`there are ${known.length} keys, as many as there may be`);
  check?.(known);
  const { text, ...made } = newKey();
  const key = keyOf(grants, made, now);
  await writeKeys(session, [key]);
  return { key, text };
}

/** Rejects with KeyRefused. */
export async function updateKey(session: KeySession, id: string, changes: Changes, now: number): Promise<ApiKey> {
  const problem = Object.keys(changes).length === 0 ? "name a limit to change" : limitProblem(changes);
  if (problem !== null) throw new KeyRefused(problem, true);
  const old = validKey(await readKeys(session), id, now);
  if (old.admin) throw new KeyRefused(`${old.id} is an admin key, which has no limits`);
  const key = updated(old, changes);
  await writeKeys(session, [key]);
  return key;
}

/** All of them are found before one is revoked. Rejects with KeyRefused. */
export async function revokeKeys(
  session: KeySession,
  ids: readonly string[],
  { now, check }: { now: number; check?: (known: readonly ApiKey[]) => void },
): Promise<ApiKey[]> {
  const known = await readKeys(session);
  const found = findKeys(known, ids);
  check?.(known);
  const keys = found.map((key) => ({ ...key, revokedAt: key.revokedAt ?? now }));
  await writeKeys(session, keys);
  return keys;
}

/** overlap: ms for which the old key stays valid. Rejects with KeyRefused. */
export async function rotateKey(
  session: KeySession,
  id: string,
  { now, overlap }: { now: number; overlap?: number | undefined },
): Promise<MadeKey & { old: ApiKey }> {
  const old = validKey(await readKeys(session), id, now);
  const { text, ...made } = newKey();
  // The old key is refused only after the new one is there: both are in one partition.
  const [key, last] = rotated(old, made, { now, overlap });
  await writeKeys(session, [key, last]);
  return { key, text, old };
}

function validKey(keys: readonly ApiKey[], id: string, now: number): ApiKey {
  const [found] = findKeys(keys, [id]);
  if (found === undefined || isRevoked(found, now)) throw new KeyRefused(`${id} is revoked: make a new key`);
  return found;
}
