// The examples that a later turn of a conversation is shown again, as the turn before it was
// (state/prefixes/kept-examples.ts): those that are still there, may still be shown, and fit.
import { turnsKey } from "../../algorithms/text/conversation-key.ts";
import type { SharedDomains } from "../../algorithms/selection/shared-domains.ts";
import type { Request } from "../../schemas/types.ts";
import type { ExamplePool } from "../../state/examples/port.ts";
import type { KeptPrompt } from "../../state/prefixes/kept-examples.ts";
import type { SelectedExample } from "../flow.ts";
import type { Chosen } from "./choose.ts";
import { barred, type Asker } from "./screen.ts";

/**
 * Key of the turn before, whose whole prompt this one begins with; null: it begins a conversation.
 * A client's own examples before its question are no turn before.
 */
export function continuedTurn({ tenant, messages }: Pick<Request, "tenant" | "messages">): string | null {
  const answer = messages.findLastIndex(({ role }) => role === "assistant");
  return answer < 0 ? null : turnsKey(tenant, messages.slice(0, answer));
}

/** In their order, up to the first that exceeds `room` (tokens); null if none is left. */
export function keptChoice(
  { examples }: KeptPrompt,
  pool: Pick<ExamplePool, "get">,
  asker: Omit<Asker, "vector">,
  { sharing, room, now }: { sharing: Pick<SharedDomains, "gives">; room: number; now: number },
): Chosen | null {
  const shown: SelectedExample[] = [];
  let left = room;
  for (const kept of examples) {
    const held = pool.get(kept.id);
    if (held === undefined || (held.expiresAt !== null && held.expiresAt <= now)) continue;
    if (barred(held, asker, sharing) !== null) continue;
    left -= kept.tokens;
    if (left < 0) break;
    shown.push({
      ...{ ...kept, request: held.request, response: held.response },
      // Without features: it was selected for another question, so training must not use it.
      ...{ explored: false, cachedBonus: 0, features: [] },
    });
  }
  const order = { order: "kept" as const, orderProbability: 1 };
  return shown.length === 0 ? null : { examples: shown, order, trial: null, settled: [], open: 0, verdicts: [] };
}
