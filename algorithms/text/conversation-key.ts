// What the turns of one conversation have in common.
import { hash } from "node:crypto";

/**
 * Digest of the tenant and its session; without one, of the system texts and the first user turn,
 * which all later turns begin with. 32 hexadecimal digits; linear.
 */
export function conversationKey(
  tenant: string,
  session: string | null,
  turns: readonly { role: string; content: string }[],
): string {
  const first = turns.findIndex(({ role }) => role === "user");
  const beginning = turns
    .slice(0, first < 0 ? undefined : first + 1)
    .filter(({ role }) => role === "system" || role === "user");
  const of = session ?? beginning.map(({ role, content }) => [role, content]);
  return hash("sha256", JSON.stringify([tenant, of])).slice(0, 32);
}

/** Digest of the tenant and all turns: a later turn begins with all of these, and an answer. */
export const turnsKey = (tenant: string, turns: readonly { role: string; content: string }[]): string =>
  hash("sha256", JSON.stringify([tenant, turns.map(({ role, content }) => [role, content])])).slice(0, 32);
