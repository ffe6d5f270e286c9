// Share of a prompt that an arm's engine is expected to have cached: by what it reported of recent
// prompts of the sharing domain, and whether it answered the conversation's last turn. Of one
// process; bounded.
import { requestKey } from "../algorithms/identity/identity.ts";
import type { Arm } from "../arms/arm.ts";
import type { Usage } from "../schemas/types.ts";

export interface Prompted {
  domain: string;
  conversation: string;
  characters: number;
}

export type CachedShares = ReturnType<typeof createCachedShares>;

/** Engines and providers keep a prefix for five minutes or longer. */
const keptMs = 300_000;
const mostConversations = 50_000;
const mostUnderWay = 10_000;
const mostDomains = 10_000;
/** Weight of the newest prompt, at least; the first ones of a domain weigh more. */
const rate = 0.05;
/** Before an arm has reported: nothing of a first prompt, half of what it answered before. */
const unknown = { first: 0, later: 0.5 };

interface Known {
  first: number;
  later: number;
  /** Number of prompts in the mean. */
  count: number;
}

interface Turn {
  arm: string;
  characters: number;
  at: number;
}

/** clock: milliseconds. */
export function createCachedShares(clock: () => number) {
  const conversations = new Map<string, Turn>();
  const underWay = new Map<string, { domain: string; conversation: string; reach: number; arm: string }>();
  const ofArm = new Map<string, Known>();
  /** By arm and domain, most recently reported last. A new one starts at the arm's value. */
  const ofDomain = new Map<string, Known>();
  const domainKey = (arm: string, domain: string): string => JSON.stringify([arm, domain]);

  /** Share of a prompt that the arm has seen as the conversation's last one; 0: none. */
  function reachOf(arm: string, conversation: string, characters: number): number {
    const last = conversations.get(conversation);
    const isKept = last?.arm === arm && clock() - last.at < keptMs && characters >= last.characters;
    return isKept && characters > 0 ? last.characters / characters : 0;
  }

  return {
    /** [0, 1], for a prompt of so many characters. */
    expected(arm: string, { domain, conversation, characters }: Prompted): number {
      const { first, later } = ofDomain.get(domainKey(arm, domain)) ?? ofArm.get(arm) ?? unknown;
      return Math.max(first, later * reachOf(arm, conversation, characters));
    },
    /** The arm was chosen for the request. */
    chosen(
      arm: string,
      { domain, conversation, characters, tenant, requestId }: Prompted & { tenant: string; requestId: string },
    ): void {
      const reach = reachOf(arm, conversation, characters);
      put(underWay, requestKey(tenant, requestId), { domain, conversation, reach, arm }, mostUnderWay);
      put(conversations, conversation, { arm, characters, at: clock() }, mostConversations);
    },
    /** Its answer, or another arm's. */
    answered(
      arm: string,
      { tenant = "", requestId }: { tenant?: string; requestId: string },
      { prompt, cached }: Usage,
    ): void {
      const key = requestKey(tenant, requestId);
      const asked = underWay.get(key);
      if (asked === undefined) return;
      underWay.delete(key);
      const last = conversations.get(asked.conversation);
      // Another arm took over: it has the prefix now.
      if (last !== undefined && asked.arm !== arm) last.arm = arm;
      if (prompt <= 0) return;
      const share = Math.min(1, Math.max(0, cached / prompt));
      const isLater = asked.arm === arm && asked.reach > 0;
      const note = (known: Known, weight: number): Known => {
        if (isLater) known.later += weight * (Math.min(1, share / asked.reach) - known.later);
        else known.first += weight * (share - known.first);
        known.count++;
        return known;
      };
      const all = ofArm.get(arm) ?? { ...unknown, count: 0 };
      const where = domainKey(arm, asked.domain);
      const own = ofDomain.get(where) ?? { ...all, count: 0 };
      put(ofDomain, where, note(own, Math.max(rate, 1 / (own.count + 5))), mostDomains);
      ofArm.set(arm, note(all, rate));
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
