// The arms that may answer a request, each with its examples, its context for the router and the
// share of the prompt that its engine is expected to have cached.
import { sessionOf } from "../../algorithms/identity/session.ts";
import { createFeatures } from "../../algorithms/routing/features.ts";
import { conversationKey } from "../../algorithms/text/conversation-key.ts";
import { promptTokens } from "../../algorithms/text/prompt-tokens.ts";
import { cachedCostShare, costAtMost } from "../../arms/cost.ts";
import type { RouteArm } from "../../arms/routed.ts";
import { serves } from "../../arms/serves.ts";
import { templates } from "../../arms/templates.ts";
import type { Documents } from "../../connections/documents/port.ts";
import type { ShownExample } from "../../schemas/types.ts";
import type { CachedShares } from "../../state/cached-shares.ts";
import { findDocuments } from "../documents.ts";
import type { Embedded, Selected, SelectedExample } from "../flow.ts";
import type { Contender } from "./score.ts";

export type Asking = Pick<
  Selected,
  "request" | "domain" | "question" | "embedding" | Exclude<keyof Selected, keyof Embedded>
>;

export interface Contenders {
  allowed: Contender[];
  /** What the cheapest arm may cost, where the request limits that; null: it does not. */
  leastCost: number | null;
  promptCharacters: number;
  /** Null: no arm has another price for what is cached. */
  cache: { chosen(arm: string): void } | null;
}

export interface ContendersOptions {
  arms: () => readonly RouteArm[];
  /** Absent: prompts are bounded without documents. */
  documents?: Documents | undefined;
  /** What engines are expected to have cached; absent: nothing. */
  cached?: Pick<CachedShares, "expected" | "chosen"> | undefined;
  clock: () => number;
}

export function createContenders({ arms, documents, cached, clock }: ContendersOptions) {
  const features = createFeatures();

  /** Bound for the whole prompt with its examples, in the arm's currency. */
  function mostCost(arm: RouteArm, { request, examplesByArm }: Asking): number {
    const { messages, tenant, documents: ids, passthrough, params } = request;
    const found = documents === undefined ? [] : findDocuments(documents, tenant, ids).pieces;
    const examples = arm.examples ? (examplesByArm.get(arm.name) ?? []) : [];
    const prompt = templates[arm.template].pieces({ messages, system: arm.system, examples });
    return costAtMost(arm, promptTokens([...prompt, ...found], passthrough), params.maxTokens, passthrough);
  }

  /** null: no arm declares all that the request requires. */
  const of = (asking: Asking): Contenders | null => {
    const { request, embedding } = asking;
    const { maxCost, arms: named } = request.allow;
    const promptCharacters = request.messages.reduce((sum, { content }) => sum + content.length, 0);
    const capable = arms().filter((arm) => serves(arm, request.requires));
    if (capable.length === 0) return null;
    const now = clock();
    const caching = cached !== undefined && capable.some(({ prices }) => cachedCostShare(prices, 1, now) !== 1);
    const conversation = caching ? conversationKey(request.tenant, sessionOf(request.metadata), request.messages) : "";
    const prompted = { domain: asking.domain, conversation, characters: promptCharacters };
    let leastCost: number | null = null;
    const allowed = capable.flatMap((arm): Contender[] => {
      if (named !== null && !named.includes(arm.name)) return [];
      if (arm.batch === true && request.batchUntil === null) return [];
      const examples = arm.examples ? (asking.examplesByArm.get(arm.name) ?? []).map(shown) : [];
      // Without an example a reuse arm has no answer.
      if (arm.reuse !== undefined && examples.length === 0) return [];
      if (maxCost !== null && arm.reuse === undefined) {
        const atMost = mostCost(arm, asking);
        leastCost = Math.min(leastCost ?? Infinity, atMost);
        if (atMost > maxCost) return [];
      }
      const messages = request.messages.length;
      const trial = arm.examples ? (asking.trialByArm.get(arm.name) ?? null) : null;
      const context = features({ ...asking, promptCharacters, messages, embedding, examples, cost: arm.cost });
      const contender = { arm, examples, order: asking.orderByArm.get(arm.name), trial, context };
      if (!caching) return [contender];
      const cachedShare = cached.expected(arm.name, prompted);
      const cost = Math.min(1, arm.cost * cachedCostShare(arm.prices, cachedShare, now));
      return [{ ...contender, cachedShare, cost }];
    });
    const chosen = (arm: string): void =>
      cached?.chosen(arm, { ...prompted, tenant: request.tenant, requestId: request.id });
    return { allowed, leastCost, promptCharacters, cache: caching ? { chosen } : null };
  };
  return { of };
}

const shown = ({ request: _request, response: _response, ...example }: SelectedExample): ShownExample => example;
