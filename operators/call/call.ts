// Calls the arm and makes the one final response. Needs link before it. A repeated call may cost
// twice; the response is published once, for the stage commits it with the work. It never retries:
// that is the arm's own business.
import { workDeadline } from "../../algorithms/identity.ts";
import type { Arm } from "../../arms/arm.ts";
import { ok, refuse, retryLater, type Step } from "../../runtime/step.ts";
import type { Called, Linked } from "../flow.ts";
import { replyPartition } from "../refusal.ts";
import { answeredResponse, failedResponse, lateResponse } from "./response.ts";

/** What it reads of a piece of work, and what it adds. */
type Needs = Pick<Linked, "record" | "timestamp" | "prompt">;
type Adds = Pick<Called, "emits">;

/** Whose answer is under way, and where its reader looks for the pieces. */
export interface DeltaTarget {
  requestId: string;
  tenant: string;
  partition: number;
}
/** Takes the pieces of one answer as the arm gives them. Best effort; never throws. */
export interface DeltaSink {
  text(text: string, attempt: number): void;
  /** The call is over: its response says all. */
  end(): void;
}

export interface CallDependencies {
  arm: Pick<Arm, "answer">;
  /** For requests that ask for pieces; absent: nobody hears of them. */
  deltas?: ((target: DeltaTarget) => DeltaSink) | undefined;
  /** Milliseconds since the epoch. */
  clock: () => number;
  /** How many the responses topic has; a reply partition beyond them is ignored. */
  partitions?: () => number;
}

const timerMs = 2;

export function createCall({ arm, deltas, clock, partitions = () => Infinity }: CallDependencies): Step<Needs, Adds> {
  return async function call(linked, { signal }) {
    const work = linked.record;
    const { request } = work;
    const requestId = work.decision.requestId;
    const called = clock();
    const notAfter = workDeadline(work, linked.timestamp);
    if (called >= notAfter) return refuse("deadline_exceeded", lateMessage(notAfter, called));

    const { pieces, linkPolicy } = linked.prompt;
    const { params, tenant } = request;
    const asked = { requestId, tenant, pieces, params, deadline: notAfter, ...(linkPolicy && { linkPolicy }) };
    const to = replyPartition(request, partitions());
    const { partition } = to;
    const sink = request.deltas && partition !== undefined ? deltas?.({ requestId, tenant, partition }) : undefined;
    const result = await arm.answer(asked, signal, sink?.text).finally(() => sink?.end());
    const times = { called, finished: clock() };
    // The timers of the deadline may end a call a little before it.
    const early = result.kind === "failure" ? timerMs : 0;
    const isLate = times.finished >= notAfter - early;
    // The partition was lost or the stage shuts down: the answer is somebody else's to give.
    if (!isLate && result.kind === "failure" && (signal.aborted || result.code === "cancelled"))
      return retryLater(new Error(`the call was cancelled: ${result.message}`));

    const response = isLate
      ? lateResponse(work, requestId, result, { ...times, message: lateMessage(notAfter, times.finished) })
      : result.kind === "answer"
        ? answeredResponse(work, requestId, result, times)
        : failedResponse(work, requestId, result, times);
    return ok({ ...linked, emits: [{ output: "responses", key: requestId, record: response, ...to }] });
  };
}

function lateMessage(notAfter: number, now: number): string {
  return `No answer came before the deadline, which passed ${String(Math.max(0, now - notAfter))} ms ago; allow more with deadlineMs.`;
}
