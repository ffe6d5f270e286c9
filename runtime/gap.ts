// The broker lacks the next offset: a batch from ahead, retention, a truncated log or a new topic.
// Committed position and log ends tell which.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { backoff } from "../algorithms/queueing/backoff.ts";
import { sameOrigin } from "../algorithms/identity/origin.ts";
import type { GroupConsumer } from "../connections/kafka/port.ts";
import type { Adoption } from "./adoption.ts";
import { confirmTruncation } from "./confirm-truncation.ts";
import type { PartitionState } from "./partition.ts";

export interface GapOptions {
  consumer: Pick<GroupConsumer, "committed" | "pause" | "resume" | "seek">;
  readAgain: Adoption["readAgain"];
  stopped: () => boolean;
  /** Retention removed records before they were taken. */
  onLost: () => void;
  onClosed: () => void;
  log: Logger;
}

/** from: start of the batch ahead; undefined: the broker does not know the offset. */
export type CloseGap = (state: PartitionState, from?: number) => Promise<void>;

const retryMs = { first: 50, limit: 1_000 };

export function createGapCloser({ consumer, readAgain, stopped, onLost, onClosed, log }: GapOptions): CloseGap {
  return async function closeGap(state, from) {
    const at = { topic: state.topic, partition: state.partition };
    const truncation = confirmTruncation(Date.now);
    consumer.pause([state]);
    const waits = backoff(retryMs);
    while (!state.dropped && !stopped()) {
      try {
        const [{ beginning, end, current } = { beginning: 0, end: 0, current: state.origin }] =
          await consumer.committed([at]);
        if (state.dropped) return;
        const next = state.window.next();
        if (!sameOrigin(state.origin, current)) return readAgain([state], "the topic was made anew");
        if (end < next) {
          if (truncation.isConfirmed("end")) return readAgain([state], "the log has lost its end");
          await sleep(waits.next());
          continue;
        }
        if (beginning > next) {
          log.warn({ ...at, next, beginning }, "retention removed records before they were taken");
          onLost();
          state.window.advanceTo(beginning);
        } else log.debug({ ...at, next: state.window.next(), from }, "a batch from ahead is left out and read again");
        consumer.seek(at, state.window.next());
        state.paused = false;
        consumer.resume([state]);
        onClosed();
        return;
      } catch (error) {
        log.debug({ err: error, ...at }, "the beginning of a partition is not to be had yet");
        await sleep(waits.next());
      }
    }
  };
}
