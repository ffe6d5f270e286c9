// What requests have in common that an engine has cached for one of them: the beginning of the
// prompt. Requests with the same key go to the same replica.
import type { ArmRequest } from "../../arm.ts";

/**
 * Made of arm, sharing domain, system texts, and the piece behind them: the first example or
 * document, or else the conversation's first turn, which its later turns begin with, too.
 */
export function prefixKey(arm: string, { caching, tenant, pieces }: ArmRequest): string {
  const systems = pieces.filter(({ kind }) => kind === "system").map(({ text }) => text);
  const first = pieces.find(({ kind }) => kind !== "system")?.text ?? null;
  return JSON.stringify([arm, caching?.domain || (tenant ?? ""), systems, first]);
}
