// Which conversation a request continues: the same key for all of its turns. Pure.
import { createHash } from "node:crypto";

/**
 * Digest of the tenant and its session id or, without one, of all turns up to the first user turn
 * (system texts and the question). 32 hexadecimal digits. Linear in those texts.
 */
export function conversationKey(
  tenant: string,
  session: string | null,
  turns: readonly { role: string; content: string }[],
): string {
  const opening = turns.slice(0, 1 + turns.findIndex(({ role }) => role === "user"));
  const named = session === null ? opening.map(({ role, content }) => [role, content]) : session;
  // As JSON, so that no two lists of texts run into one another.
  return createHash("sha256")
    .update(JSON.stringify([tenant, named]))
    .digest("hex")
    .slice(0, 32);
}
