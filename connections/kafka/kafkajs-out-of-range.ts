// kafkajs 2.2.4 answers an offset that the broker does not have by committing a default one in its
// place, outside any transaction: the group's position and what was finished beyond it would be
// gone. Here the partition is paused instead, and whoever runs the consumer is told; consumers that
// nobody has asked to be told about (readers without positions of their own) go on as before.
import { internals, type ConsumerGroupLike } from "./kafkajs-internals.ts";

type Listener = (topic: string, partition: number) => void;

const listeners = new Map<string, Listener>();

/** Called with the id that the member of this process has now. */
export const listenOutOfRange = (memberId: string, listener: Listener): void => void listeners.set(memberId, listener);
export const forgetOutOfRange = (memberId: string): void => void listeners.delete(memberId);

interface OutOfRange {
  topic: string;
  partition: number;
}
type Recover = (this: ConsumerGroupLike, error: OutOfRange) => Promise<void>;

/** Wraps ConsumerGroup.recoverFromOffsetOutOfRange. */
export function withoutDefaultOffset(recover: Recover): Recover {
  return async function tellOutOfRange(error) {
    const { topic, partition } = error;
    const listener = this.memberId === null ? undefined : listeners.get(this.memberId);
    const follower = this.preferredReadReplicasPerTopicPartition?.[topic]?.[partition];
    // A follower that is behind is no end of the log: kafkajs asks the leader next.
    if (listener === undefined || typeof follower === "number") return recover.call(this, error);
    this.pause([{ topic, partitions: [partition] }]);
    listener(topic, partition);
  };
}

/** Idempotent within a process because the module is loaded once. */
export function patchOutOfRange(): void {
  const { prototype } = internals.ConsumerGroup;
  prototype.recoverFromOffsetOutOfRange = withoutDefaultOffset(prototype.recoverFromOffsetOutOfRange);
}
