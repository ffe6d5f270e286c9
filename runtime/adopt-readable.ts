// Adopts partitions as each position can be read, so that one behind an open transaction holds up
// no other. Repeats until all are adopted or a later join overtakes it.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { backoff } from "../algorithms/queueing/backoff.ts";
import type { CommittedOffset, GroupConsumer, TopicPartition } from "../connections/kafka/port.ts";
import type { TruncationCheck } from "./confirm-truncation.ts";
import { partitionKey } from "./partition.ts";
import { rarely } from "../algorithms/queueing/rarely.ts";
import { startOf } from "./starting-position.ts";

export interface AdoptReadableOptions {
  consumer: Pick<GroupConsumer, "committedNow">;
  truncation: TruncationCheck;
  /** Before records of them are taken; rejects to be tried again. */
  onAdopt: (partitions: readonly TopicPartition[]) => Promise<void>;
  take: (positions: readonly CommittedOffset[]) => void;
  isOvertaken: () => boolean;
  log: Logger;
}

const retryMs = { first: 50, limit: 1_000 };
const warnMs = { first: 1_000, limit: 30_000 };

/** Resolves to those that it has not adopted when it was overtaken. */
export async function adoptReadable(
  wanted: readonly TopicPartition[],
  { consumer, truncation, onAdopt, take, isOvertaken, log }: AdoptReadableOptions,
): Promise<readonly TopicPartition[]> {
  const isUnconfirmed = (position: CommittedOffset): boolean => {
    const key = partitionKey(position);
    if (startOf(position).surprise === "truncated") return !truncation.isConfirmed(key);
    truncation.clear(key);
    return false;
  };

  let remaining = wanted;
  const due = rarely(warnMs, Date.now);
  const complain = (why: object): void =>
    log[due() ? "warn" : "debug"](why, "positions are not to be had yet, trying again");
  const waits = backoff(retryMs);
  while (!isOvertaken()) {
    try {
      const found = await consumer.committedNow(remaining);
      if (isOvertaken()) break;
      const doubtful = new Set(found.known.filter(isUnconfirmed));
      const sure = found.known.filter((position) => !doubtful.has(position));
      const waiting = [
        ...found.waiting,
        ...[...doubtful].map(({ topic, partition }) => ({ topic, partition, why: "it ends before its position" })),
      ];
      if (sure.length > 0) {
        await onAdopt(sure.map(({ topic, partition }) => ({ topic, partition })));
        if (isOvertaken()) break;
        take(sure);
        remaining = waiting.map(({ topic, partition }) => ({ topic, partition }));
      }
      if (waiting.length === 0) return [];
      complain({ waiting });
    } catch (error) {
      if (isOvertaken()) break;
      complain({ err: error });
    }
    await sleep(waits.next());
  }
  return remaining;
}
