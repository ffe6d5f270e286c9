// Repeats a step while its dependency fails, until the deadline refuses it. A record that waits for
// others gives its slot back (slots.ts).
import { setTimeout as sleep } from "node:timers/promises";
import { backoff, type Backoff } from "../algorithms/queueing/backoff.ts";
import type { TopicName } from "../schemas/records.ts";
import { signalOf, type Cancellation } from "./lazy-abort.ts";
import type { Retry } from "./pipeline.ts";
import { refuse, type Ending, type Outcome, type Slot, type Refuse } from "./step.ts";

/** The partition belongs to another process: its outputs are discarded. */
export class Abandoned extends Error {
  override name = "Abandoned";
}

export const retryMs = { first: 50, limit: 5_000 };

export function retrying(cancellation: Cancellation, lost: Cancellation, slot?: Slot): Retry {
  const retryUntilDone = async <T, O extends TopicName>(
    first: Outcome<T, O> | Promise<Outcome<T, O>>,
    attempt: () => Outcome<T, O> | Promise<Outcome<T, O>>,
  ): Promise<Ending<T, O>> => {
    let left = false;
    let waitsIn: string | undefined;
    let waits: Backoff | undefined;
    for (let next = first; ; next = attempt()) {
      let outcome = await next;
      while (outcome.kind === "elsewhere") {
        const { pool, bytes } = outcome;
        const enters = waitsIn === pool || slot === undefined || slot.leave({ pool, bytes });
        if (enters) waitsIn = pool;
        left ||= enters;
        outcome = enters ? await outcome.go() : outcome.full();
      }
      if (lost.aborted) throw new Abandoned("the partition was lost");
      if (outcome.kind !== "retryLater") {
        // What ends here needs none; what goes on does.
        if (left && outcome.kind === "ok") await slot?.take();
        return outcome;
      }
      const { cause, elseRefuse } = outcome;
      if (cancellation.aborted) return deadlineExceeded(cause, elseRefuse);
      if (elseRefuse !== undefined && !left && slot !== undefined) {
        left = slot.leave();
        if (!left) return elseRefuse;
      }
      waits ??= backoff(retryMs);
      await sleep(waits.next(), undefined, { signal: signalOf(cancellation) }).catch(() => undefined);
    }
  };
  return (attempt) => {
    const first = attempt();
    if (first instanceof Promise || first.kind === "elsewhere" || first.kind === "retryLater" || lost.aborted)
      return retryUntilDone(first, attempt);
    return first;
  };
}

export const deadlineExceeded = (cause?: Error, instead?: Refuse): Refuse => ({
  ...refuse(
    "deadline_exceeded",
    `no answer was possible before the deadline${cause === undefined ? "" : `: ${cause.message}`}`,
  ),
  ...(instead?.repeat === true ? { repeat: true } : {}),
});
