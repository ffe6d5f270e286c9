// Outputs that the broker will not take as they are: for good (too large), where a dead letter
// stands in for them, or because they name a partition that their topic does not have.
import type { Logger } from "pino";
import { kafkaErrorType, type NoSuchPartition } from "../connections/kafka/errors.ts";
import type { OutgoingMessage } from "../connections/kafka/port.ts";
import type { PartitionEntries } from "./batch.ts";
import type { PartitionState, TaskEntry } from "./partition.ts";

/** Stand-ins for outputs that the broker never takes; again: of stand-ins. */
export type Rejected = (
  entry: TaskEntry,
  state: PartitionState,
  cause: unknown,
  again: boolean,
) => Promise<OutgoingMessage[]>;

const refusedForGood = new Set(["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_RECORD", "INVALID_TIMESTAMP"]);
export const isRefusedForGood = (error: unknown): boolean => refusedForGood.has(kafkaErrorType(error) ?? "");

export interface ReplaceOptions {
  rejected: Rejected;
  /** The record has no output at all. */
  onWithheld: () => void;
  log: Logger;
}

/** Replaces an entry's outputs by stand-ins; none when there have been too many. */
export async function replaceOutputs(
  { entry, state, cause }: { entry: TaskEntry; state: PartitionState; cause: unknown },
  { rejected, onWithheld, log }: ReplaceOptions,
): Promise<void> {
  const { item, offset } = entry;
  item.refusals++;
  const at = { topic: state.topic, partition: state.partition, offset };
  try {
    item.messages = item.refusals > 2 ? [] : await rejected(entry, state, cause, item.refusals > 1);
  } catch (error) {
    item.messages = [];
    log.error({ err: error, ...at }, "no dead letter can be made");
  }
  if (item.messages.length > 0) return;
  log.error({ err: cause, ...at }, "a record is passed over without any output: the broker takes no dead letter of it");
  onWithheld();
}

/** Outputs for a partition that does not exist go where their key puts them. */
export function redirect({ missing }: NoSuchPartition, collected: readonly PartitionEntries[], log: Logger): boolean {
  const isMissing = (message: OutgoingMessage): boolean =>
    missing.some(({ topic, partition }) => topic === message.topic && partition === message.partition);
  let redirected = false;
  for (const { entries } of collected)
    for (const { item } of entries) {
      if (!item.messages.some(isMissing)) continue;
      item.messages = item.messages.map((message) => {
        if (!isMissing(message)) return message;
        const { partition, ...rest } = message;
        log.error({ topic: message.topic, partition }, "no such partition: a record goes where its key belongs");
        return rest;
      });
      redirected = true;
    }
  return redirected;
}
