// Looks a request up in the response cache, or follows an equal one under way without a slot
// (state/response-cache/under-way.ts), within its domain and key only. Delivery: a hit's decision
// and response are committed with the request's position.
import { cacheKey, digestOf, type AnsweringArm } from "../../algorithms/response-cache/cache-key.ts";
import type { Documents } from "../../connections/documents/port.ts";
import {
  elsewhere,
  finish,
  ok,
  retryLater,
  type Emit,
  type Finish,
  type Outcome,
  type StepContext,
} from "../../runtime/step.ts";
import type { Request } from "../../schemas/types.ts";
import { findDocuments } from "../documents.ts";
import type { CacheKey, Assigned, LookedUp } from "../flow.ts";
import { templates, type TemplateName } from "../../arms/templates.ts";
import { hitDecision, hitResponse } from "./hit.ts";
import { entryKeyOf, type CachedAnswer, type CacheEntries } from "../../state/response-cache/entries.ts";
import type { UnderWay } from "../../state/response-cache/under-way.ts";

type Needs = Omit<Assigned, "question" | "degraded">;
type Outputs = "responses" | "decisions";

type Adds = Pick<LookedUp, "cacheKey">;

/** Outcome of a lookup; "excluded": the request forbids caching, or wants a fresh answer. */
export type CacheResult = "hit" | "followed" | "miss" | "excluded";

export interface CacheLookup {
  entries: Pick<CacheEntries, "find" | "peek">;
  underWay: Pick<UnderWay, "follows" | "follow">;
  /** Milliseconds that a response of a sharing domain is cached; 0: none is. */
  ttlMs: (domain: string) => number;
  /** Whether requests with a temperature above 0 and no seed are cached, too. */
  sampled: boolean;
  onResult?: (result: CacheResult, savedCost: number) => void;
}

export interface LookupDependencies {
  /** Absent: there is no response cache. */
  responseCache?: CacheLookup | undefined;
  arms: () => readonly CachedArm[];
  documents: Documents;
  clock: () => number;
  partitions: () => number;
}

interface CachedArm extends Omit<AnsweringArm, "template" | "settings"> {
  template: TemplateName;
  settings?: string;
  /** Answers lines of batches alone, later. */
  batch?: boolean | undefined;
}

/** Not among the names of arms, whose pools are beside it. */
const pool = "the same under way";

/** Its outcome is synchronous; what waits for another request is left to `elsewhere`. */
export function createLookup(
  dependencies: LookupDependencies,
): <T extends Needs>(validated: T, context: StepContext) => Outcome<T & Adds, Outputs> {
  const { responseCache, arms, documents, clock } = dependencies;
  if (responseCache === undefined) return ok;
  const { entries, underWay, ttlMs, sampled, onResult } = responseCache;

  const answering = (): AnsweringArm[] =>
    arms().map(({ name, model, template, settings = "" }) => ({
      name,
      model,
      settings,
      template: templates[template].id,
    }));

  const mayBeDeferred = ({ batchUntil, allow }: Request): boolean =>
    batchUntil !== null && arms().some(({ name, batch }) => batch === true && (allow.arms?.includes(name) ?? true));

  function keyOf({ request, domain, routerVersion }: Needs): CacheKey | undefined {
    if (ttlMs(domain) <= 0 || !isCacheable(request, sampled)) return undefined;
    const found = findDocuments(documents, request.tenant, request.documents);
    if (found.missing.length > 0) return undefined;
    const digest = digestOf(found.pieces.map(({ text }) => text));
    const asked = { request, domain, routerVersion, arms: answering(), documents: digest };
    return { hash: cacheKey(asked), documents: digest };
  }

  return function lookup<T extends Needs>(validated: T, context: StepContext) {
    const began = performance.now();
    const { request, domain, deadline, timestamp } = validated;
    const cacheKey = keyOf(validated);
    const goesOn = (result: CacheResult): Outcome<T & Adds, Outputs> => {
      onResult?.(result, 0);
      return ok({ ...validated, cacheKey });
    };
    if (cacheKey === undefined || request.privacy.fresh) return goesOn("excluded");

    const give = (answer: CachedAnswer, result: "hit" | "followed"): Finish<Outputs> => {
      onResult?.(result, answer.cost);
      const timings = [...context.timings, { operator: "lookup", ms: performance.now() - began }];
      const hit = { ...validated, hash: cacheKey.hash, answer, now: clock(), timings };
      return finish<Emit<Outputs>>(hitDecision(hit), hitResponse(hit, dependencies.partitions()));
    };
    const key = entryKeyOf(domain, cacheKey.hash);
    const found = entries.find(key);
    if (found !== undefined) return give(found, "hit");

    const asking = { tenant: request.tenant, id: request.id, arrivedAt: timestamp, deadline };
    // Other requests would wait for a line that may be answered in a day.
    if (mayBeDeferred(request) || !underWay.follows(key, asking)) return goesOn("miss");
    return elsewhere<T & Adds, Outputs>({
      pool,
      bytes: 0,
      async go() {
        const meanwhile = entries.peek(key);
        if (meanwhile !== undefined) return give(meanwhile, "followed");
        const released = await underWay.follow(key, asking, context.signal);
        if (released.kind === "answer") return give(released.answer, "followed");
        if (released.kind === "gone") return retryLater(new Error("the same request under way was not answered yet"));
        return goesOn("miss");
      },
      // Too many wait already: a model is called as if there was no other request.
      full: () => ok({ ...validated, cacheKey }),
    });
  };
}

function isCacheable(
  { privacy, params, passthrough }: Pick<Request, "privacy" | "params" | "passthrough">,
  sampled: boolean,
): boolean {
  if (passthrough !== null) return false;
  const isSampled = params.temperature !== null && params.temperature > 0 && params.seed === null;
  return privacy.cache && privacy.share && (sampled || !isSampled);
}
