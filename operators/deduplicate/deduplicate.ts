// Answers a request id that was seen within 24 hours with a copy of its first response, marked
// duplicate and free of cost. Needs validate before it and the partition's ids restored. A repeat
// gives its slot back before ClickHouse is asked, which may hang. While the first response is not
// recorded yet, or ClickHouse is down, it waits until its deadline; a model is never called twice
// for one id. An id that comes with another text is refused.
import { errorOf } from "../../connections/errors.ts";
import { sharingDomain } from "../../algorithms/identity/identity.ts";
import { requestHash } from "../../algorithms/text/canonical.ts";
import {
  anotherRecord,
  elsewhere,
  finish,
  ok,
  refuse,
  retryLater,
  type Ending,
  type Position,
  type Refuse,
  type Step,
} from "../../runtime/step.ts";
import type { Response } from "../../schemas/types.ts";
import type { Validated } from "../flow.ts";
import { deferral, noAnswer } from "../../schemas/no-answer.ts";
import { replyPartition } from "../refusal.ts";
import type { FirstResponse, FirstResponses, FoundResponse } from "./first-responses.ts";
import type { SeenIds } from "./seen.ts";

/** What it reads of a request. */
type Needs = Omit<Validated, "question" | "degraded">;

export interface DeduplicateDependencies {
  seen: SeenIds;
  firstResponses: FirstResponses;
  clock: () => number;
  /** Partitions of the responses topic. */
  partitions: () => number;
}

/** For repeats beyond those that may wait; a repeat, as the first answer is to come. */
const tooMany: Refuse = {
  ...refuse(
    "too_many_repeats",
    "Too many repeats of requests under way wait for their first answers (limits.parked): wait for the answer instead of sending it again.",
  ),
  repeat: true,
};

/** What ClickHouse has of it is not what was said, and a model is never asked twice for an id. */
const gone: Refuse = {
  ...refuse(
    "first_answer_gone",
    "This id was answered before. That answer is recorded with its personal data replaced, and the topic has it no more: ask again under another id.",
  ),
  repeat: true,
};

export function createDeduplicate(dependencies: DeduplicateDependencies): Step<Needs, object, "responses"> {
  const { seen, firstResponses, clock, partitions } = dependencies;
  return function deduplicate(validated) {
    const { record, request, position } = validated;
    // An id that plan makes comes from the record's position: no other request has it.
    const named = record.id !== null && record.id !== "";
    // Hash of the record as it came: record stores the same one.
    const hash = named ? requestHash(record) : "";
    const first = named ? seen.firstSeen(request.tenant, request.id, position, validated.timestamp, hash) : null;
    if (first === null) return ok(validated);
    if ((seen.hashOf(request.tenant, request.id) ?? hash) !== hash)
      return {
        ...refuse(
          "id_reused",
          // Not where: offsets count what all tenants send.
          `The id ${request.id} was used for another request within 24 hours: give every request an id of its own.`,
        ),
        repeat: true,
      };
    return elsewhere({
      ...{ pool: anotherRecord, bytes: 0, full: () => tooMany },
      go: () => repeat(validated, first),
    });
  };

  /** The copy of the first response; retryLater while it can't be had. */
  async function repeat(
    validated: Needs,
    first: Position,
  ): Promise<Exclude<Ending<never, "responses">, { kind: "ok" }>> {
    const { request } = validated;
    let response: FoundResponse | null;
    try {
      response = await firstResponses.find(request.tenant, request.id, clock());
    } catch (cause) {
      return retryLater(errorOf(cause), tooMany);
    }
    // Its answer may be a day away, and its gateway finds it in the log.
    if (response === null && request.batchUntil !== null)
      return { ...refuse(deferral.code, deferral.message), repeat: true };
    if (response === null)
      return retryLater(
        new Error(
          `request ${request.id} was seen first at partition ${first.partition}, offset ${first.offset} and its response is not recorded yet`,
        ),
        tooMany,
      );
    if (response === "gone") return gone;
    return finish({
      output: "responses",
      key: request.id,
      record: copyOf(response, validated, clock()),
      ...replyPartition(request, partitions()),
    });
  }
}

function copyOf(first: FirstResponse, { request, receivedAt, timestamp }: Needs, now: number): Response {
  const { attempt, status, text, passthrough, finishReason, stopSequence, arm, model, source, exampleIds } = first;
  return {
    ...noAnswer(),
    ...{ attempt, status, text, passthrough, finishReason, stopSequence, arm, model, source, exampleIds },
    ...{ error: first.error, degraded: first.degraded },
    requestId: request.id,
    tenant: request.tenant,
    domain: sharingDomain(request.tenant, request.domain),
    duplicate: true,
    timings: { plan: now - receivedAt, queue: 0, firstToken: null, total: now - timestamp },
    createdAt: now,
  };
}
