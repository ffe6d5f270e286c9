// One row of a log, from any source: a request and one arm's answer to it. A log may hold several
// rows of one request: answers of several arms.
import { requestHash } from "../algorithms/text/canonical.ts";
import { sharingDomain } from "../algorithms/identity/identity.ts";
import type { Request } from "../schemas/types.ts";

/** A request as it is replayed; its id and time are those of the log. */
export type LoggedRequest = Request & { id: string; createdAt: number };

export interface LoggedAnswer {
  arm: string;
  /** null: the arm's own name for it. */
  model: string | null;
  /** null: the log does not hold the answer, or the arm failed. */
  text: string | null;
  /** As Response.passthrough; absent: nothing beside the text. */
  passthrough?: string | null;
  finishReason: string;
  promptTokens: number;
  /** Those of the prompt that no cache of the provider had; absent: all. */
  prefilledTokens?: number;
  completionTokens: number;
  cost: number;
  /** Milliseconds from the call of the arm to its first token and its end; null: not known. */
  firstTokenMs: number | null;
  serviceMs: number | null;
  /** [0, 1]; null: there was no feedback. */
  reward: number | null;
  /** With which the arm was chosen, (0, 1]; null: not logged. */
  propensity: number | null;
}

export interface LogRow {
  request: LoggedRequest;
  /** null: nothing is known of an answer. */
  answer: LoggedAnswer | null;
  /** What a person would have answered; absent: nothing. */
  correction?: string | null;
  /** L when it was decided, and the penalty of each arm for its saturation. */
  load: number;
  saturation: Readonly<Record<string, number>>;
}

/** A row as it is stored for the log replay; position: its position in the log. */
export function storedRow({ request, answer, load, saturation }: LogRow, position: number) {
  const { arm = "", ...known } = answer ?? {};
  return {
    position,
    at: request.createdAt,
    request_id: request.id,
    tenant: request.tenant,
    domain: sharingDomain(request.tenant, request.domain),
    same: `${sharingDomain(request.tenant, request.domain)} ${requestHash(request)}`,
    request: JSON.stringify(request),
    load,
    saturation,
    arm,
    answer: answer === null ? "" : JSON.stringify(known),
    has_text: answer !== null && answer.text !== null,
    reward: answer?.reward ?? null,
    propensity: answer?.propensity ?? null,
  };
}

export interface Replayed {
  request: LoggedRequest;
  load: number;
  saturation: Readonly<Record<string, number>>;
  answers: ReadonlyMap<string, Omit<LoggedAnswer, "arm">>;
}
