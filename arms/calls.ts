// Calls of an arm under way: at most its slots, in fair turns between tenants, each ended by its
// signal, its deadline or close(). An abort while waiting is answered at once.
import { errorOf } from "../connections/errors.ts";
import { createFairQueue } from "../algorithms/queueing/fair-queue.ts";
import type { ArmFailure, ArmRequest, ArmResult } from "./arm.ts";

type Ending = "cancelled" | "deadline";

/** Milliseconds; a timer for longer would be over at once. */
export const longestTimer = 2 ** 31 - 1;

interface Waiting {
  tenant: string;
  begin(): Promise<unknown>;
}

/** weightOf: a tenant's share of the turns, 1 by default. */
export function createCalls(concurrency: number, weightOf?: (tenant: string) => number) {
  const waiting = createFairQueue<Waiting>(weightOf);
  const open = new Set<AbortController>();
  let active = 0;
  let closed = false;

  const beginNext = (): void => {
    while (active < concurrency && !closed) {
      const next = waiting.take(() => true);
      if (next === undefined) return;
      active++;
      void next.begin().finally(() => {
        active--;
        waiting.release(next.tenant, 1);
        beginNext();
      });
    }
  };

  /** Settles as `work` does, when its turn has come; never after close(). */
  const inTurn = (tenant: string, work: () => ArmResult | Promise<ArmResult>): Promise<ArmResult> =>
    new Promise((resolve, reject) => {
      const begin = async (): Promise<void> => {
        try {
          resolve(await work());
        } catch (error) {
          reject(errorOf(error));
        }
      };
      waiting.push(tenant, "", { tenant, begin }, 1);
      queueMicrotask(beginNext);
    });

  /**
   * Runs `call` once a slot is free. `ending`: aborted when no result is needed, endedFailure()
   * says why. Without a free slot `onWait` runs first; it must not throw.
   */
  async function run(
    request: ArmRequest,
    signal: AbortSignal,
    call: (ending: AbortSignal) => Promise<ArmResult>,
    onWait?: (over: AbortSignal) => void,
  ): Promise<ArmResult> {
    const ending = new AbortController();
    const cancel = (): void => ending.abort("cancelled" satisfies Ending);
    const expire = (): void => ending.abort("deadline" satisfies Ending);
    const timer = setTimeout(expire, Math.min(longestTimer, Math.max(0, request.deadline - Date.now())));
    signal.addEventListener("abort", cancel, { once: true });
    if (signal.aborted) cancel();
    open.add(ending);
    let running = false;
    let over: AbortController | undefined;
    try {
      // Rarely: a controller, and the error that it is aborted with, cost as much as a small call.
      if (active + waiting.size() >= concurrency && !ending.signal.aborted)
        onWait?.((over = new AbortController()).signal);
      const gaveUp = new Promise<ArmResult>((resolve) => {
        const leave = (): void => {
          // A running call ends itself, and knows its number of attempts.
          if (!running) resolve(endedFailure(ending.signal, 0));
        };
        if (ending.signal.aborted) leave();
        else ending.signal.addEventListener("abort", leave, { once: true });
      });
      const answered = inTurn(request.tenant ?? "", () => {
        running = !ending.signal.aborted;
        return running ? call(ending.signal) : endedFailure(ending.signal, 0);
      });
      return await Promise.race([answered, gaveUp]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", cancel);
      open.delete(ending);
      over?.abort();
    }
  }

  function close(): void {
    for (const ending of open) ending.abort("cancelled" satisfies Ending);
    closed = true;
  }

  return { run, close };
}

/** The failure of a call whose `ending` was aborted after `attempts` calls of the model. */
export function endedFailure(ending: AbortSignal, attempts: number): ArmFailure {
  if (ending.reason === ("deadline" satisfies Ending)) {
    const message = "The deadline passed before the answer came.";
    return { kind: "failure", code: "endpoint_timeout", message, attempts, retriable: false };
  }
  return { kind: "failure", code: "cancelled", message: "The call was cancelled.", attempts, retriable: true };
}
