// Batches that a table or a tail has passed because they can't be read. Those of a stage's input
// are dead letters, and count as dropped.
import type { UnreadableBatch } from "../../connections/kafka/port.ts";
import { oncePerRegistry, countersOf } from "./instruments.ts";

/** Counts a batch; one counter a registry. */
export const countUnreadable = oncePerRegistry((registry) => {
  const batches = countersOf(registry)(
    "precedent_unreadable_batches_total",
    "Batches that a reader of a topic has passed because they can't be read, by topic and reason.",
    ["topic", "reason"],
  );
  return ({ topic, code }: UnreadableBatch): void => batches.inc({ topic, reason: code });
});
