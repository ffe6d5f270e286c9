// What ends the work on one record before its time: the deadline, or the loss of its partition.
import { Abandoned, deadlineExceeded } from "./retrying.ts";
import type { Ending } from "./step.ts";

/** An operator that ignores its signal is left behind this long after the deadline. */
const graceMs = 1_000;

export interface Limit {
  /** Aborted by the deadline, or with the partition. */
  signal: AbortSignal;
  /**
   * Ends the race when an operator doesn't heed the signal: at once when the partition is lost, a
   * grace after the deadline.
   */
  over: Promise<Ending<never>>;
  /** The work is done. */
  end(): void;
}

/**
 * One signal and one listener a record: AbortSignal.any and its kind cost more than most operators.
 */
export function limitOf(lost: AbortSignal, withinMs: number): Limit {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let abandon = (): void => undefined;
  const over = new Promise<Ending<never>>((resolve, reject) => {
    abandon = () => {
      controller.abort(lost.reason);
      reject(new Abandoned("the partition was lost"));
    };
    timer = setTimeout(() => {
      controller.abort(new Error("the deadline passed"));
      timer = setTimeout(() => resolve(deadlineExceeded()), graceMs).unref();
    }, clampTimeout(withinMs));
  });
  lost.addEventListener("abort", abandon, { once: true });
  if (lost.aborted) abandon();
  return {
    signal: controller.signal,
    over,
    end() {
      clearTimeout(timer);
      lost.removeEventListener("abort", abandon);
    },
  };
}

/** setTimeout takes at most 2^31 - 1 ms, and anything past becomes 1. */
const clampTimeout = (ms: number): number => Math.min(Math.max(ms, 0), 2_147_483_647);
