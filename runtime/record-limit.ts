// What ends the work on one record before its time: the deadline, or the loss of its partition.
import type { TopicName } from "../schemas/records.ts";
import { LazyAbort, type Cancellation } from "./lazy-abort.ts";
import { Abandoned, deadlineExceeded } from "./retrying.ts";
import type { Ending } from "./step.ts";

/** An operator that ignores its signal is left behind this long after the deadline. */
const graceMs = 1_000;

export function limitOf(lost: Cancellation, withinMs: number) {
  const cancellation = new LazyAbort();
  let timer: NodeJS.Timeout | undefined;
  let abandon = (): void => undefined;
  return {
    /** Aborted by the deadline, or with the partition. */
    cancellation,
    /** Work that doesn't heed its end is left: at once on loss, a grace after the deadline. */
    outcome: <T, O extends TopicName>(work: () => Promise<Ending<T, O>>): Promise<Ending<T, O>> =>
      new Promise((resolve, reject) => {
        abandon = () => {
          cancellation.abort(lost.reason);
          reject(new Abandoned("the partition was lost"));
        };
        timer = setTimeout(() => {
          cancellation.abort(new Error("the deadline passed"));
          timer = setTimeout(() => resolve(deadlineExceeded()), graceMs).unref();
        }, clampTimeout(withinMs));
        lost.addEventListener("abort", abandon, { once: true });
        if (lost.aborted) abandon();
        work().then(resolve, reject);
      }),
    end(): void {
      clearTimeout(timer);
      lost.removeEventListener("abort", abandon);
    },
  };
}

/** setTimeout takes at most 2^31 - 1 ms, and anything past becomes 1. */
const clampTimeout = (ms: number): number => Math.min(Math.max(ms, 0), 2_147_483_647);
