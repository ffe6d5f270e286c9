// Calls the arm and makes the one final response, or another arm's work after a failure of its own
// (fallback.ts). An alternative answer's work ends on alternative-answers only. Needs link before
// it. A repeated call may cost twice; its outputs are published once. Never retries.
import { workDeadline } from "../../algorithms/identity/identity.ts";
import { isArmsFault, type Arm, type OnText } from "../../arms/arm.ts";
import type { DeltaSink, DeltaTarget } from "../../state/delta-port.ts";
import type { Response } from "../../schemas/types.ts";
import { ok, refuse, retryLater, type Step } from "../../runtime/step.ts";
import type { Called, Linked, SelectedExample } from "../flow.ts";
import { replyPartition } from "../refusal.ts";
import { cancelledFailure, type WatchCancels } from "../../state/cancel.ts";
import { failedArms, type Fallback } from "./fallback.ts";
import type { ToCacheEntry } from "./cache-entry.ts";
import { answeredResponse, failedCost, failedResponse, lateResponse, unredactedResponse } from "./response.ts";

interface Needs extends Pick<Linked, "record" | "timestamp" | "prompt"> {
  /** Where they are still at hand. */
  examplesByArm?: ReadonlyMap<string, readonly SelectedExample[]>;
}
type Adds = Pick<Called, "emits">;

export interface CallDependencies {
  arm: Pick<Arm, "answer">;
  /** For requests that ask for pieces; absent: they are discarded. */
  deltas?: ((target: DeltaTarget) => DeltaSink) | undefined;
  /** Absent: requests can't be cancelled. */
  cancels?: WatchCancels | undefined;
  /** Absent: no other arm takes over. */
  fallback?: Fallback | undefined;
  /** What is kept of a response; absent: nothing. */
  toCacheEntry?: ToCacheEntry | undefined;
  /** Replaces personal data before the answer goes out; null: it took too long. Absent: off. */
  redact?: ((response: Response) => Promise<Response | null>) | undefined;
  clock: () => number;
  /** How many the responses topic has; a reply partition beyond them is ignored. */
  partitions?: () => number;
}

const timerMs = 2;

export function createCall(dependencies: CallDependencies): Step<Needs, Adds> {
  const { arm, deltas, cancels, fallback, toCacheEntry, redact, clock, partitions = () => Infinity } = dependencies;
  return async function call(linked, context) {
    const { cancellation = context.signal } = context;
    const work = linked.record;
    const { request } = work;
    const requestId = work.decision.requestId;
    const called = clock();
    const notAfter = workDeadline(work, linked.timestamp);
    if (called >= notAfter) return refuse("deadline_exceeded", lateMessage(notAfter, called));

    const { pieces, linkPolicy } = linked.prompt;
    const { params, tenant, passthrough, privacy, promptCacheKey, cacheSalt } = request;
    const isAnswer = work.role === "answer";
    const next = isAnswer ? fallback?.next(work) : undefined;
    const asked = {
      ...{ requestId, tenant, pieces, params, deadline: notAfter },
      caching: { domain: work.decision.domain, mayStore: privacy.cache && privacy.share },
      ...(passthrough !== null && { passthrough }),
      ...(promptCacheKey !== null && { promptCacheKey }),
      ...(cacheSalt !== null && { cacheSalt }),
      ...(linkPolicy && { linkPolicy }),
      ...(next && { replaceable: true }),
      // Every call counts, in whichever stage: what failed arms have cost is gone.
      ...(request.allow.maxCost !== null && { maxCost: request.allow.maxCost - failedCost(work) }),
    };
    const to = replyPartition(request, partitions());
    const { partition } = to;
    const sink =
      isAnswer && request.deltas && partition !== undefined ? deltas?.({ requestId, tenant, partition }) : undefined;
    // A reader starts over with every attempt: those of arms that failed before count, too.
    const before = failedArms(work).reduce((sum, { attempts }) => sum + attempts, 0);
    const onText =
      sink && ((...[text, attempt, ...more]: Parameters<OnText>) => sink.text(text, attempt + before, ...more));
    const watch = cancels?.({ tenant, requestId, arrivedAt: work.plannedAt - work.planMs }, cancellation);
    const result = await (
      watch?.isCancelled() === true
        ? Promise.resolve(cancelledFailure(0))
        : arm.answer(asked, watch?.signal ?? context.signal, onText)
    ).finally(() => {
      watch?.end();
      sink?.end();
    });
    const times = { called, finished: clock() };
    // The timers of the deadline may end a call a little before it.
    const early = result.kind === "failure" ? timerMs : 0;
    const isLate = times.finished >= notAfter - early;
    const takenBack = watch?.isCancelled() === true && !cancellation.aborted && result.kind === "failure";
    // The partition was lost or the stage shuts down: another process gives the answer.
    if (!isLate && !takenBack && result.kind === "failure" && (cancellation.aborted || result.code === "cancelled"))
      return retryLater(new Error(`the call was cancelled: ${result.message}`));

    if (!isLate && !takenBack && isAnswer && result.kind === "failure" && fallback !== undefined) {
      const isTooLong = result.code === "prompt_too_large";
      const other = isTooLong ? fallback.next(work, true) : isArmsFault(result) ? next : undefined;
      if (other !== undefined) {
        const record = fallback.handOver(work, other, { ...result, ms: times.finished - called }, linked.examplesByArm);
        return ok({ ...linked, emits: [{ output: "work", arm: other.name, key: requestId, record }] });
      }
    }
    const response = isLate
      ? lateResponse(work, requestId, result, { ...times, message: lateMessage(notAfter, times.finished) })
      : result.kind === "answer"
        ? answeredResponse(work, requestId, result, times)
        : failedResponse(
            work,
            requestId,
            takenBack ? { ...result, ...cancelledFailure(result.attempts) } : result,
            times,
          );
    const record = redact === undefined ? response : ((await redact(response)) ?? unredactedResponse(response));
    if (!isAnswer) return ok({ ...linked, emits: [{ output: "alternative-answers", key: requestId, record }] });
    // Made of what the arm wrote: an answer in which personal data is found is not cached.
    const entries = toCacheEntry === undefined ? [] : await toCacheEntry(work, response);
    return ok({ ...linked, emits: [{ output: "responses", key: requestId, record, ...to }, ...entries] });
  };
}

function lateMessage(notAfter: number, now: number): string {
  return `No answer came before the deadline, which passed ${String(Math.max(0, now - notAfter))} ms ago; allow more with deadlineMs.`;
}
