// The final response, from a unit of work and what the arm said. Pure: the clock's times are passed
// in.
import type { ArmAnswer, ArmFailure, ArmResult } from "../../arms/arm.ts";
import { NO_USAGE } from "../../schemas/no-usage.ts";
import type { Response, Work } from "../../schemas/types.ts";
import { responseError } from "../refusal.ts";
import { armOf, failedArms } from "./fallback.ts";

export interface CallTimes {
  called: number;
  finished: number;
}

/**
 * The response to an answer; the timings firstToken and total count from the request's arrival.
 * Whole milliseconds, rounded down: no first token comes after the total.
 */
export function answeredResponse(work: Work, requestId: string, answer: ArmAnswer, times: CallTimes): Response {
  const { firstTokenMs } = answer;
  return {
    ...base(work, requestId, times),
    attempt: attemptsOf(work, answer),
    status: "ok",
    source: answer.source ?? "generated",
    ...asking(work),
    text: answer.text,
    finishReason: answer.finishReason,
    stopSequence: answer.stopSequence ?? null,
    model: answer.model,
    linkPolicy: answer.linkPolicy ?? null,
    usage: answer.usage,
    passthrough: answer.passthrough ?? null,
    ...{ cost: answer.cost + failedCost(work), failedCost: failedCost(work) + (answer.spent?.cost ?? 0) },
    billed: billedCalls(work) + (answer.spent?.calls ?? 0) + (answer.source === undefined ? 1 : 0),
    savedCost: answer.source === "reuse" ? (work.decision.reuse?.savedCost ?? 0) : 0,
    timings: {
      plan: work.planMs,
      queue: Math.floor(waited(work, times) + answer.queueMs),
      firstToken: firstTokenMs === null ? null : Math.floor(sinceArrival(work, times.called) + firstTokenMs),
      total: sinceArrival(work, times.finished),
    },
  };
}

/** The response to a failure that the arm has got over as often as it may, at what it cost. */
export function failedResponse(work: Work, requestId: string, failure: ArmFailure, times: CallTimes): Response {
  return {
    ...base(work, requestId, times),
    ...spentBy(work, failure),
    attempt: attemptsOf(work, failure),
    status: "failed",
    error: responseError(failure),
  };
}

export function refusedWork(
  work: Work,
  requestId: string,
  error: { code: string; message: string },
  now: number,
): Response {
  return { ...base(work, requestId, { called: now, finished: now }), status: "refused", error: responseError(error) };
}

/** Refused after the deadline, with its attempts, tokens and cost. */
export function lateResponse(
  work: Work,
  requestId: string,
  result: ArmResult,
  { message, ...times }: CallTimes & { message: string },
): Response {
  const spent =
    result.kind === "answer"
      ? answeredResponse(work, requestId, result, times)
      : { ...base(work, requestId, times), ...spentBy(work, result) };
  return {
    ...spent,
    ...withoutAnswer,
    attempt: attemptsOf(work, result),
    status: "refused",
    error: responseError({ code: "deadline_exceeded", message }),
  };
}

/** In place of an answer that could not be checked in time, at its cost. */
export const unredactedResponse = (response: Response): Response => ({
  ...response,
  ...withoutAnswer,
  status: "failed",
  error: responseError({
    code: "not_redacted",
    message: "Personal data in the answer could not be looked for in time (privacy.redact.responses): ask again.",
  }),
});

/** Those of arms that failed before it, too. */
const attemptsOf = (work: Work, { attempts }: Pick<ArmResult, "attempts">): number =>
  failedArms(work).reduce((sum, failed) => sum + failed.attempts, attempts);

export const failedCost = (work: Pick<Work, "fallback">): number =>
  failedArms(work).reduce((sum, { cost }) => sum + cost, 0);

const billedCalls = (work: Pick<Work, "fallback">): number =>
  failedArms(work).reduce((sum, { billed }) => sum + billed, 0);

function spentBy(work: Work, { spent }: ArmFailure): Pick<Response, "usage" | "cost" | "failedCost" | "billed"> {
  const cost = (spent?.cost ?? 0) + failedCost(work);
  const billed = billedCalls(work) + (spent?.calls ?? 0);
  return { usage: spent?.usage ?? { ...NO_USAGE }, cost, failedCost: cost, billed };
}

function base(work: Work, requestId: string, times: CallTimes): Response {
  const arm = armOf(work);
  const shown = work.decision.arms.find((score) => score.arm === arm);
  const failed = failedArms(work);
  const ids = new Set(work.pieces.flatMap(({ kind, id }) => (kind === "example" && id !== null ? [id] : [])));
  return {
    requestId,
    tenant: work.request.tenant,
    domain: work.decision.domain,
    attempt: attemptsOf(work, { attempts: 0 }),
    status: "failed",
    text: "",
    finishReason: null,
    stopSequence: null,
    arm,
    model: shown?.model ?? null,
    failedArms: [...failed],
    source: "none",
    exampleIds: [...ids],
    exampleTokens: (shown?.examples ?? []).reduce((sum, { id, tokens }) => sum + (ids.has(id) ? tokens : 0), 0),
    usage: { ...NO_USAGE },
    duplicate: false,
    ...{ cost: failedCost(work), failedCost: failedCost(work), billed: billedCalls(work), savedCost: 0 },
    // The operator pays for an alternative answer, not the account of the request.
    account: work.role === "alternative" ? null : work.request.account,
    timings: {
      plan: work.planMs,
      queue: waited(work, times),
      firstToken: null,
      total: sinceArrival(work, times.finished),
    },
    error: null,
    passthrough: null,
    linkPolicy: null,
    ...notAsking,
    degraded: [...work.decision.degraded, ...(failed.length > 0 ? ["fallback"] : [])],
    createdAt: times.finished,
  };
}

const notAsking = { asked: false, alternative: null } as const;
const nothing = { text: "", passthrough: null, finishReason: null, stopSequence: null } as const;
const withoutAnswer = { ...nothing, ...notAsking, source: "none" } as const;

/** Only an answer is asked about, and only the one that the client waits for asks. */
const asking = ({ role, decision }: Work): Pick<Response, "asked" | "alternative"> =>
  role === "alternative"
    ? notAsking
    : { asked: decision.asked, alternative: decision.alternative ? decision.alternativeArm : null };

/** On the work topic and in this process, until the arm was called; without calls of other arms. */
const waited = (work: Work, times: CallTimes): number =>
  Math.max(0, times.called - work.plannedAt - failedArms(work).reduce((sum, { ms }) => sum + ms, 0));

/** Since the request came to the broker, by plan's clock. */
function sinceArrival(work: Work, at: number): number {
  return Math.max(0, at - (work.plannedAt - work.planMs));
}
