// The second half of recall: an exact repeat of a request is answered by the kept answer, without a
// model call; one whose like is under way waits for that answer, outside of the places of the stage
// (under-way.ts). Only within a sharing domain, only under the same key (algorithms/response-cache/answer-key.ts),
// and only where the request allows it. Delivery: decision and response of a hit are committed with
// the request's position.
import { answerKey, digestOf, type AnsweringArm } from "../../algorithms/response-cache/answer-key.ts";
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
import type { KeptUnder, Recalled, Validated } from "../flow.ts";
import { templates, type TemplateName } from "../../arms/templates.ts";
import { hitDecision, hitResponse } from "./hit.ts";
import { answerKeyOf, type GivenAnswer, type KeptAnswers } from "../../state/response-cache/entries.ts";
import type { UnderWay } from "../../state/response-cache/under-way.ts";

type Needs = Omit<Validated, "question" | "degraded">;
type Outputs = "responses" | "decisions";

export type RecallAnswer = <T extends Needs>(
  validated: T,
  context: StepContext,
) => Outcome<T & Pick<Recalled, "keptUnder">, Outputs>;

/** How requests fared; "excluded": nothing may be kept of them, or they want a fresh answer. */
export type CacheResult = "hit" | "followed" | "miss" | "excluded";

export interface RecallAnswerDependencies {
  kept: Pick<KeptAnswers, "find" | "peek">;
  underWay: Pick<UnderWay, "follows" | "follow">;
  arms: () => readonly CachedArm[];
  documents: Documents;
  /** Milliseconds that an answer of a sharing domain is kept; 0: none is. */
  ttlMs: (domain: string) => number;
  /** Requests that state a temperature above 0 and no seed, too. */
  sampled: boolean;
  onResult?: (result: CacheResult, savedCost: number) => void;
  clock: () => number;
  /** Partitions of the responses topic. */
  partitions: () => number;
}

interface CachedArm extends Omit<AnsweringArm, "template" | "settings"> {
  template: TemplateName;
  settings?: string;
}

/** Not among the names of arms, whose pools are beside it. */
const pool = "the same under way";

export function createRecallAnswer(dependencies: RecallAnswerDependencies): RecallAnswer {
  const { kept, underWay, arms, documents, ttlMs, sampled, onResult, clock } = dependencies;

  const answering = (): AnsweringArm[] =>
    arms().map(({ name, model, template, settings = "" }) => ({
      name,
      model,
      settings,
      template: templates[template].id,
    }));

  function keyOf({ request, domain }: Needs): KeptUnder | undefined {
    if (ttlMs(domain) <= 0 || !mayBeKept(request, sampled)) return undefined;
    const found = findDocuments(documents, request.tenant, request.documents);
    if (found.missing.length > 0) return undefined;
    const digest = digestOf(found.pieces.map(({ text }) => text));
    return { hash: answerKey({ request, domain, arms: answering(), documents: digest }), documents: digest };
  }

  return function recallAnswer<T extends Needs>(validated: T, context: StepContext) {
    const began = performance.now();
    const { request, domain, deadline, timestamp } = validated;
    const keptUnder = keyOf(validated);
    const goesOn = (result: CacheResult): Outcome<T & Pick<Recalled, "keptUnder">, Outputs> => {
      onResult?.(result, 0);
      return ok({ ...validated, keptUnder });
    };
    if (keptUnder === undefined || request.privacy.fresh) return goesOn("excluded");

    const give = (answer: GivenAnswer, result: "hit" | "followed"): Finish<Outputs> => {
      onResult?.(result, answer.cost);
      const timings = [...context.timings, { operator: "recall", ms: performance.now() - began }];
      const hit = { ...validated, hash: keptUnder.hash, answer, now: clock(), timings };
      return finish<Emit<Outputs>>(hitDecision(hit), hitResponse(hit, dependencies.partitions()));
    };
    const key = answerKeyOf(domain, keptUnder.hash);
    const found = kept.find(key);
    if (found !== undefined) return give(found, "hit");

    const asking = { tenant: request.tenant, id: request.id, arrivedAt: timestamp, deadline };
    if (!underWay.follows(key, asking)) return goesOn("miss");
    return elsewhere<T & Pick<Recalled, "keptUnder">, Outputs>({
      pool,
      bytes: 0,
      async go() {
        const meanwhile = kept.peek(key);
        if (meanwhile !== undefined) return give(meanwhile, "followed");
        const released = await underWay.follow(key, asking, context.signal);
        if (released.kind === "answer") return give(released.answer, "followed");
        if (released.kind === "gone") return retryLater(new Error("the same request under way was not answered yet"));
        return goesOn("miss");
      },
      // Too many wait already: it is answered as if nobody else had asked.
      full: () => ok({ ...validated, keptUnder }),
    });
  };
}

/**
 * private: nothing of it is kept, and nothing kept is given. What is passed on as it is: a kept
 * answer is text alone, without calls of tools.
 */
function mayBeKept(
  { privacy, params, passthrough }: Pick<Request, "privacy" | "params" | "passthrough">,
  sampled: boolean,
): boolean {
  if (passthrough !== null) return false;
  const isSampled = params.temperature !== null && params.temperature > 0 && params.seed === null;
  return privacy.cache && privacy.share && (sampled || !isSampled);
}
