// What stands behind the topics, in one process and without Kafka: plan but for its choice of arm
// and examples, a model that says for whom it answers, and what record writes. Nothing happens by
// itself: the test releases each record, so that any interleaving can be made.
import { setMaxListeners } from "node:events";
import { createAdaptive } from "../../algorithms/response-cache/adaptive.ts";
import type { Documents } from "../../connections/documents/port.ts";
import { chunkKey } from "../../connections/kv/keys.ts";
import { cancelledFailure, type CancelWatch } from "../../state/cancel.ts";
import { decide as decided } from "../../operators/call/decision.ts";
import { createCacheEntry } from "../../operators/call/cache-entry.ts";
import { answeredResponse, failedResponse } from "../../operators/call/response.ts";
import { createCompose } from "../../operators/compose/compose.ts";
import type { LookedUp, Validated } from "../../operators/flow.ts";
import { createLookup } from "../../operators/lookup/lookup.ts";
import { createFirstResponses } from "../../operators/deduplicate/first-responses.ts";
import { createCacheEntries } from "../../state/response-cache/entries.ts";
import { createLeaderOutcomes } from "../../state/response-cache/leader-outcomes.ts";
import { createDeduplicate } from "../../operators/deduplicate/deduplicate.ts";
import { createSeenIds } from "../../operators/deduplicate/seen.ts";
import { createSharedResponses } from "../../operators/deduplicate/shared-responses.ts";
import { createUnderWay } from "../../state/response-cache/under-way.ts";
import { refusedResponse } from "../../operators/refusal.ts";
import { createValidate } from "../../operators/validate/validate.ts";
import { aChoice, aContext } from "../../operators/values.testing.ts";
import type { Emit, Outcome, Received } from "../../runtime/step.ts";
import type { Cancel, Decision, Feedback, Request, Response, Work } from "../../schemas/types.ts";
import { createCancels } from "../../state/cancels.ts";
import type { Waiting } from "../waiting.ts";
import type { Tables } from "./tables.testing.ts";
import { NO_USAGE } from "../../schemas/no-usage.ts";

export const arms = [
  { name: "small", model: "small-1", examples: true, template: "chat-turns" as const },
  { name: "large", model: "large-1", examples: true, template: "chat-turns" as const },
];
// Longer than any game lasts: what a deadline ends, a real timer ends, in no order with the steps.
const limits = { maxPromptBytes: 65_536, deadlineMs: 3_600_000, maxDeadlineMs: 3_600_000 };
const never = 2 ** 30;

/** Whom an answer is for, as its text says it; a client says it in the metadata of its request. */
export const markOf = (who: number): string => `«${who}»`;
const askerOf = ({ metadata }: Pick<Request, "metadata">): number => Number(metadata["asker"]);

interface Call {
  work: Work & { request: { id: string } };
  watch: CancelWatch;
  sent: number;
}

export interface StagesOptions {
  tables: Tables;
  waiting: Waiting;
  documents: Documents;
  now: () => number;
}

export function createStages({ tables, waiting, documents, now }: StagesOptions) {
  const stopping = new AbortController();
  // All that waits at a time.
  setMaxListeners(0, stopping.signal);
  const context = { ...aContext(), signal: stopping.signal };
  const outcomes = createLeaderOutcomes(tables, () => Promise.resolve(null));
  const underWay = createUnderWay({ outcomes, followers: 64, everyMs: never, clock: now, log: context.log });
  const entries = createCacheEntries({
    policy: createAdaptive(2 ** 24),
    clock: now,
    onAnswer: underWay.answered,
  });
  const ttlMs = () => 3_600_000;
  const partitions = () => 1;
  const validate = createValidate({ limits, arms: () => arms, partitions });
  const firstResponses = createSharedResponses(createFirstResponses(tables, () => Promise.resolve(null)));
  const deduplicate = createDeduplicate({ seen: createSeenIds(), firstResponses, clock: now, partitions });
  const lookup = createLookup({
    responseCache: { entries, underWay, ttlMs, sampled: true },
    ...{ arms: () => arms, documents, clock: now, partitions },
  });
  const compose = createCompose({ arms: () => arms, documents, limits, clock: now });
  const toCacheEntry = createCacheEntry({ ttlMs, maxBytes: 65_536, isClean: () => Promise.resolve(true) });
  const cancels = createCancels({ clock: now });
  /** By who asks: what waits for plan, and for the model. */
  const planned = new Map<number, Received<Request>[]>();
  const called = new Map<number, Call[]>();
  const asked = new Map<number, number>();
  /** Whose each cache of keys and values is. */
  const chunks = new Map<string, string>();
  let offset = 0;
  const of = <T>(those: Map<number, T[]>, who: number): T[] => {
    const own = those.get(who) ?? [];
    those.set(who, own);
    return own;
  };
  const figures = { generated: 0, cached: 0, followed: 0, duplicates: 0, cancelled: 0 };

  function respond(response: Response): void {
    // The table of responses names no account.
    const { requestId, tenant, duplicate, error, timings, usage, account: _, ...more } = response;
    if (duplicate) figures.duplicates++;
    const flat = { errorCode: error?.code ?? null, errorMessage: error?.message ?? null };
    const gives = { requestId, tenant, ...more, ...flat, totalMs: timings.total, promptTokens: usage.prompt };
    tables.insert("responses", { request_id: requestId, tenant, duplicate }, gives);
    waiting.response(0, response);
  }
  function decide(decision: Decision): void {
    const { requestId, tenant, source, cacheKey, arm, probability, degraded } = decision;
    const gives = { source, cacheKey, arm, probability, degraded, arms: [], saturation: {} };
    tables.insert("decisions", { request_id: requestId, tenant }, gives);
  }
  function publish(emits: readonly Emit<"responses" | "decisions">[]): void {
    for (const emit of emits) {
      if (emit.output === "decisions") decide(emit.record);
      else respond(emit.record);
    }
  }

  async function call(received: Received<Request>, lookedUp: LookedUp): Promise<void> {
    const { request, domain } = lookedUp;
    const found = {
      threshold: 0,
      exploredThreshold: null,
      helpfulnessVersion: 0,
      choice: aChoice({ createdAt: now() }),
    };
    const composed = await compose({ ...lookedUp, examplesByArm: new Map(), orderByArm: new Map(), ...found }, context);
    // A document that it has not, for one.
    if (composed.kind === "refuse") return settle(received, composed);
    if (composed.kind !== "ok") throw new Error(`compose: ${composed.kind}`);
    const { decision, work } = decided({ ...composed.value, alternative: null }, context.timings);
    decide(decision);
    checkChunks(domain, work);
    const watch = cancels.watch(
      { tenant: request.tenant, requestId: request.id, arrivedAt: lookedUp.timestamp },
      context.signal,
    );
    of(called, askerOf(request)).push({ work: { ...work, request }, watch, sent: 0 });
  }

  /** Throws where two sharing domains would have one cache. */
  function checkChunks(domain: string, { pieces }: Work): void {
    for (const { text } of pieces) {
      const key = chunkKey(
        "format",
        domain,
        Array.from(text, (character) => character.codePointAt(0) ?? 0),
      );
      const owner = chunks.get(key) ?? domain;
      if (owner !== domain) throw new Error(`one cache of ${owner} and ${domain}`);
      chunks.set(key, domain);
    }
  }

  async function settle(
    received: Received<Request>,
    outcome: Outcome<Validated | LookedUp, "responses" | "decisions">,
  ): Promise<void> {
    if (outcome.kind === "ok") await call(received, { experiment: null, ...outcome.value });
    else if (outcome.kind === "finish") publish(outcome.emits);
    else if (outcome.kind === "refuse")
      publish([refusedResponse(received, { ...outcome, status: "refused" }, now(), partitions())]);
    else if (outcome.kind === "retryLater") of(planned, askerOf(received.record)).push(received);
    else if (outcome.kind === "deadLetter") throw new Error(outcome.reason);
    else {
      figures.followed++;
      void outcome.go().then((next) => (stopping.signal.aborted ? undefined : settle(received, next)));
    }
  }

  return {
    figures,
    request(record: Request, tenant: string): void {
      // The one tenant that a request may ever have is the one whose key it came with.
      if (record.tenant !== tenant) throw new Error(`a request of ${tenant} is ${record.tenant}'s`);
      const position = { topic: "precedent.requests", partition: 0, offset: offset++ };
      of(planned, askerOf(record)).push({ record, position, timestamp: now(), receivedAt: now() });
      const { id, messages } = record;
      const gives = { id, tenant, domain: record.domain, messages, documents: record.documents, createdAt: now() };
      tables.insert("requests", { request_id: id, tenant }, gives);
    },
    cancel: (record: Cancel): void => cancels.apply(record, now()),
    feedback(record: Feedback): void {
      const { id, requestId, tenant, kind, value, source, against, withdraws, text, comment, createdAt } = record;
      const gives = { id, kind, value, source, against, withdraws, text, comment, createdAt };
      tables.insert("feedback", { request_id: requestId, tenant }, gives);
    },
    /** Takes up the next request of one of them, or one that waited. */
    async plan(who: number): Promise<void> {
      const received = of(planned, who).shift();
      if (received === undefined) return;
      const validated = await validate(received, context);
      if (validated.kind !== "ok") {
        await settle(received, validated);
        return;
      }
      const first = await deduplicate(validated.value, context);
      const outcome = first.kind === "ok" ? lookup({ ...first.value, experiment: null }, context) : first;
      if (outcome.kind === "finish") figures.cached++;
      await settle(received, outcome);
    },
    /** The next piece of one of the answers under way. */
    say(who: number, which: number): void {
      const own = of(called, who);
      const one = own[which % own.length];
      if (one === undefined || one.work.request.deltas !== true) return;
      const { id, tenant } = one.work.request;
      const text = one.sent === 0 ? markOf(askerOf(one.work.request)) : " ...";
      if (one.sent < 2)
        waiting.delta(0, {
          requestId: id,
          tenant,
          attempt: 1,
          index: one.sent++,
          text,
          calls: [],
          blocks: [],
          thoughts: null,
          createdAt: now(),
        });
    },
    /** Ends one of the calls under way. */
    async answer(who: number, which: number): Promise<void> {
      const own = of(called, who);
      const [one] = own.splice(which % Math.max(1, own.length), 1);
      if (one === undefined) return;
      const { work, watch } = one;
      const times = { called: now(), finished: now() };
      watch.end();
      if (watch.isCancelled()) {
        figures.cancelled++;
        respond(failedResponse(work, work.request.id, cancelledFailure(1), times));
        return;
      }
      figures.generated++;
      const count = (asked.get(who) ?? 0) + 1;
      asked.set(who, count);
      const text = `${markOf(askerOf(work.request))} ... ${count}: ${work.pieces.map((piece) => piece.text).join(" | ")}`;
      const response = answeredResponse(
        work,
        work.request.id,
        {
          ...{ kind: "answer", text, finishReason: "stop", model: "small-1", cost: 1, attempts: 1, queueMs: 0 },
          ...{
            usage: { ...NO_USAGE, prompt: 9, prefilled: 9, completion: count },
            firstTokenMs: null,
          },
        },
        times,
      );
      const records = await toCacheEntry(work, response);
      for (const { key, record } of records) entries.apply(key ?? "", record);
      respond(response);
    },
    stop: (): void => stopping.abort(),
  };
}
