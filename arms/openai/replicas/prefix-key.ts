// Key of a prompt's beginning, which an engine caches: the same key goes to the same replica.
import type { ArmRequest } from "../../arm.ts";

/**
 * Arm, sharing domain, system texts, and the piece after them. That piece is the first example or
 * document, else the conversation's first turn, which later turns repeat.
 */
export function prefixKey(arm: string, { caching, tenant, pieces }: ArmRequest): string {
  const systems = pieces.filter(({ kind }) => kind === "system").map(({ text }) => text);
  const first = pieces.find(({ kind }) => kind !== "system")?.text ?? null;
  return JSON.stringify([arm, caching?.domain || (tenant ?? ""), systems, first]);
}
