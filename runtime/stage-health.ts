// What a stage looks at again and again while it runs, and what it says about itself because of
// that: idle positions, topics made anew, hanging transactions, partitions without progress.
import type { Logger } from "pino";
import type { HangingSearch, Kafka } from "../connections/kafka/port.ts";
import type { Adoption } from "./adoption.ts";
import type { Committer } from "./committer.ts";
import type { Lag } from "./lag.ts";
import { watchHanging, type HangingWatch } from "./hanging-watch.ts";
import { progressOf, reportOf, watchProgress, type ProgressLimits } from "./progress.ts";

export interface StageHealth {
  joined: boolean;
  partitions: number;
  inFlight: number;
  /** Milliseconds of its longest stall so far (progress.ts); absent: none. */
  stalledMs?: number;
  /** What keeps it from working, since when, and what to do about it; absent: nothing. */
  problems?: readonly string[];
  resets?: number;
  failure?: string;
}

/** How soon an idle stage's lag drops to 0 after control markers. */
const settleMs = 1_000;

/** How soon it is noticed that a topic was made anew under a stage whose offsets it has, too. */
const compareMs = 5_000;

export interface StageWatchOptions {
  kafka: Pick<Kafka, "hangingTransactions" | "endTransactions" | "ends">;
  adoption: Adoption;
  committer: Committer;
  lag: Pick<Lag, "saw">;
  /** Where transactions that hang are looked for. */
  search: () => HangingSearch;
  limits: ProgressLimits | undefined;
  log: Logger;
}

export function watchStage(options: StageWatchOptions) {
  const { kafka, adoption, committer, lag, search, limits, log } = options;
  let hanging: HangingWatch | undefined;
  let settling: NodeJS.Timeout | undefined;
  let comparing: NodeJS.Timeout | undefined;
  const progress =
    limits &&
    watchProgress({
      ...limits,
      assigned: adoption.assigned,
      progress(topic, partition) {
        const state = adoption.state(topic, partition);
        return state && progressOf(state);
      },
      ends: kafka.ends,
      onEnd: lag.saw,
      log,
    });

  return {
    start(): void {
      settling = setInterval(committer.settle, settleMs);
      hanging = watchHanging({ kafka, search, log });
      comparing = setInterval(() => {
        adoption.compareOrigins().catch((error: unknown) => log.debug({ err: error }, "topics can't be compared now"));
      }, compareMs);
    },
    stop(): void {
      clearInterval(settling);
      clearInterval(comparing);
      hanging?.stop();
      progress?.stop();
    },
    report(failure: string | undefined): Pick<StageHealth, "stalledMs" | "problems" | "failure"> {
      const { problems: stalls = [], ...stall } = progress === undefined ? {} : reportOf(progress);
      const problems = [...(failure === undefined ? [] : [failure]), ...(hanging?.problems() ?? []), ...stalls];
      return {
        ...(failure === undefined ? {} : { failure }),
        ...stall,
        ...(problems.length > 0 ? { problems } : {}),
      };
    },
  };
}
