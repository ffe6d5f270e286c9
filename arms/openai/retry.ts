// Whether, where and when a request is called again after a call that failed.
import { isArmsProblem, type Problem } from "./errors.ts";
import type { Replicas } from "./replicas/replicas.ts";

// An endpoint that asks for more has failed: a slot and a client would wait for it.
export const longestWaitMs = 300_000;
// Jitter on Retry-After, so that throttled callers do not return at the same time.
const retryAfterJitterMs = 250;

export interface NextCall {
  /** The next untried replica is called, and that counts as no retry. */
  movesOn: boolean;
  /** It goes to an untried replica. */
  hasOther: boolean;
}

/**
 * A replica that gave no response costs no retry, as long as another one is untried.
 * @param isNew the replica had not been called for this request before
 */
export function nextCall(
  problem: Problem,
  isNew: boolean,
  replicas: Pick<Replicas, "isLeft" | "hasOther">,
  tried: ReadonlySet<string>,
): NextCall {
  const movesOn = problem.unreachable === true && isNew && replicas.isLeft(tried);
  return { movesOn, hasOther: movesOn || (isArmsProblem(problem) && replicas.hasOther(tried)) };
}

export interface RetryState {
  problem: Problem;
  next: NextCall;
  /** Retries are left. */
  mayRetry: boolean;
  /** Our own back-off in milliseconds, where the endpoint asks for no wait. */
  backoffMs: () => number;
  random: () => number;
}

/** Milliseconds until the next call; null: no call. */
export function retryWaitMs({ problem, next, mayRetry, backoffMs, random }: RetryState): number | null {
  if (!(problem.retriable || next.hasOther) || !(next.movesOn || mayRetry)) return null;
  // An untried replica is left: no back-off is needed.
  if (next.hasOther) return 0;
  const asked = problem.retryAfterMs;
  const waitMs = asked === null ? backoffMs() : asked + random() * retryAfterJitterMs;
  return waitMs > longestWaitMs ? null : waitMs;
}
