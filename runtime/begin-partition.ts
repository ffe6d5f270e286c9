// Where a newly adopted partition begins, as an empty window: at the position committed, or, where
// that can't be, somewhere else, which is logged.
import type { Logger } from "pino";
import type { CommittedOffset, TopicPartition } from "../connections/kafka/port.ts";
import type { KnownPositions } from "./known-positions.ts";
import { createPartition, type PartitionState } from "./partition.ts";
import { startOf, type Surprise } from "./starting-position.ts";

export interface BeginOptions {
  known: KnownPositions;
  /** A partition goes on somewhere else than where it was. */
  onReset: ((partition: TopicPartition, surprise: Surprise | "forgotten") => void) | undefined;
  log: Logger;
}

const surprises: Readonly<Record<Surprise, string>> = {
  retention: "retention removed records before they were taken",
  truncated:
    "the log has lost its end, acknowledged records with it: going on at the end that it has now, or what comes next would be passed over",
  another_topic:
    "the position is of another topic or cluster with the same name: starting from the beginning of this one",
};

export interface Begun {
  state: PartitionState;
  surprise: Surprise | undefined;
}

export function beginPartition(committed: CommittedOffset, { known, onReset, log }: BeginOptions): Begun {
  const position = known.later(committed);
  if (position !== committed) {
    const { topic, partition, offset } = position;
    const forgotten = { topic, partition, committed: committed.offset, goesOnAt: offset };
    log.error(
      forgotten,
      "the group's coordinator has forgotten what was committed: going on where this process knows it was",
    );
    onReset?.({ topic, partition }, "forgotten");
  }
  const { topic, partition, offset, metadata, current } = position;
  const { base, finished, surprise } = startOf(position);
  if (surprise !== undefined) {
    const { beginning, end, origin } = position;
    log[surprise === "retention" ? "warn" : "error"](
      { topic, partition, committed: offset, goesOnAt: base, beginning, end, origin, current },
      surprises[surprise],
    );
    onReset?.({ topic, partition }, surprise);
  }
  const state = createPartition({ topic, partition }, base, finished, { offset, metadata }, current);
  return { state, surprise };
}
