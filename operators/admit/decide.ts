// Decides on a pass's candidates apart from each other. One that fails often while others succeed
// is refused as "failed"; while none succeeds a dependency is away and nothing counts.
import type { Logger } from "pino";
import type { Admission } from "./admit.ts";
import type { Candidate } from "./candidates.ts";

export interface DecideDependencies {
  admit: () => { decide(candidate: Candidate): Promise<Admission> };
  /** Asked when a candidate has failed too often and none succeeded beside it. */
  works: () => Promise<boolean>;
  signal: AbortSignal;
  log: Logger;
  /** Failures after which a candidate is set aside. */
  mostFailures?: number;
}

export interface Decided {
  decided: { candidate: Candidate; admission: Admission }[];
  /** Candidates that failed and are to be tried again: the cursor must not pass them. */
  waiting: number;
}

/** Failures in a row, none decided on between them, after which a pass tries no others. */
const mostInARow = 5;
/** Candidates whose failures are counted; the oldest are forgotten first. */
const mostCounted = 10_000;

export function createDecide({ admit, works, signal, log, mostFailures = 5 }: DecideDependencies) {
  const failures = new Map<string, number>();
  const keyOf = ({ source, tenant, requestId, rewardVersion }: Candidate): string =>
    JSON.stringify([source, tenant, requestId, rewardVersion]);

  return async function decide(candidates: readonly Candidate[]): Promise<Decided> {
    const batch = admit();
    const decided: Decided["decided"] = [];
    const failed: { candidate: Candidate; error: unknown }[] = [];
    let inARow = 0;
    for (const [index, candidate] of candidates.entries()) {
      signal.throwIfAborted();
      try {
        decided.push({ candidate, admission: await batch.decide(candidate) });
        failures.delete(keyOf(candidate));
        inARow = 0;
      } catch (error) {
        failed.push({ candidate, error });
        if (++inARow < mostInARow) continue;
        // Most likely a dependency: the rest waits, uncounted.
        if (!(await works())) throw error;
        inARow = 0;
        log.debug({ index }, "several candidates failed one after the other; deciding works");
      }
    }
    // What failed because the lock is lost says nothing of the candidate.
    signal.throwIfAborted();
    if (failed.length === 0) return { decided, waiting: 0 };
    if (decided.length === 0 && !(await works())) throw failed[0]?.error;
    let waiting = 0;
    for (const { candidate, error } of failed) {
      const key = keyOf(candidate);
      const count = (failures.get(key) ?? 0) + 1;
      const { tenant, requestId, source } = candidate;
      if (count < mostFailures) {
        waiting++;
        failures.set(key, count);
        for (const oldest of failures.keys())
          if (failures.size > mostCounted) failures.delete(oldest);
          else break;
        log.warn(
          { err: error, tenant, requestId, source, count },
          "a candidate failed: others go on, it is tried again",
        );
      } else {
        failures.delete(key);
        decided.push({ candidate, admission: setAside(candidate) });
        log.error({ err: error, tenant, requestId, source, count }, "a candidate failed too often: it is set aside");
      }
    }
    return { decided, waiting };
  };
}

const setAside = ({ quality }: Candidate): Admission => ({
  outcome: "refused",
  reason: "failed",
  exampleId: null,
  quality: quality ?? 0,
  changes: [],
});
