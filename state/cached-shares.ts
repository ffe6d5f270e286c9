// Share of a prompt that an arm's engine is expected to have cached: by what it reported of recent
// prompts, and whether it answered the conversation's last turn. Of one process; bounded.
import { requestKey } from "../algorithms/identity/identity.ts";
import type { Arm } from "../arms/arm.ts";
import type { Usage } from "../schemas/types.ts";

export interface CachedShares {
  /** [0, 1], for a prompt of so many characters. */
  expected(arm: string, conversation: string, characters: number): number;
  /** The arm was chosen for the request. */
  chosen(arm: string, asked: { conversation: string; characters: number; tenant: string; requestId: string }): void;
  /** Its answer, or another arm's. */
  answered(arm: string, request: { tenant?: string; requestId: string }, usage: Usage): void;
}

/** Engines and providers keep a prefix for five minutes or longer. */
const keptMs = 300_000;
const mostConversations = 50_000;
const mostUnderWay = 10_000;
/** Weight of the newest prompt. */
const rate = 0.05;
/** Before an arm has reported: nothing of a first prompt, half of what it answered before. */
const unknown = { first: 0, later: 0.5 };

interface Turn {
  arm: string;
  characters: number;
  at: number;
}

/** clock: milliseconds. */
export function createCachedShares(clock: () => number): CachedShares {
  const conversations = new Map<string, Turn>();
  const underWay = new Map<string, { conversation: string; reach: number; arm: string }>();
  const reported = new Map<string, typeof unknown>();

  /** Share of a prompt that the arm has seen as the conversation's last one; 0: none. */
  function reachOf(arm: string, conversation: string, characters: number): number {
    const last = conversations.get(conversation);
    const isKept = last?.arm === arm && clock() - last.at < keptMs && characters >= last.characters;
    return isKept && characters > 0 ? last.characters / characters : 0;
  }

  return {
    expected(arm, conversation, characters) {
      const { first, later } = reported.get(arm) ?? unknown;
      return Math.max(first, later * reachOf(arm, conversation, characters));
    },
    chosen(arm, { conversation, characters, tenant, requestId }) {
      const reach = reachOf(arm, conversation, characters);
      put(underWay, requestKey(tenant, requestId), { conversation, reach, arm }, mostUnderWay);
      put(conversations, conversation, { arm, characters, at: clock() }, mostConversations);
    },
    answered(arm, { tenant = "", requestId }, { prompt, cached }) {
      const key = requestKey(tenant, requestId);
      const asked = underWay.get(key);
      if (asked === undefined) return;
      underWay.delete(key);
      const last = conversations.get(asked.conversation);
      // Another arm took over: it has the prefix now.
      if (last !== undefined && asked.arm !== arm) last.arm = arm;
      if (prompt <= 0) return;
      const share = Math.min(1, Math.max(0, cached / prompt));
      const known = reported.get(arm) ?? { ...unknown };
      if (asked.arm === arm && asked.reach > 0) known.later += rate * (Math.min(1, share / asked.reach) - known.later);
      else known.first += rate * (share - known.first);
      reported.set(arm, known);
    },
  };
}

/** The oldest goes. */
function put<V>(map: Map<string, V>, key: string, value: V, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

/** An arm whose answers are noted. */
export const watchCached = (arm: Arm, shares: Pick<CachedShares, "answered">): Arm => ({
  ...arm,
  async answer(request, signal, onText) {
    const result = await arm.answer(request, signal, onText);
    if (result.kind === "answer") shares.answered(arm.name, request, result.usage);
    return result;
  },
});
