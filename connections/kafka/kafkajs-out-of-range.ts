// When the broker does not have an offset, kafkajs 2.2.4 commits a default one, outside any
// transaction: the group's position and everything finished beyond it would be lost. Here the
// partition is paused instead, and the consumer's listener is notified. Consumers without a
// listener (readers without positions of their own) keep kafkajs' behaviour.
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

export function patchOutOfRange(): void {
  const { prototype } = internals.ConsumerGroup;
  prototype.recoverFromOffsetOutOfRange = withoutDefaultOffset(prototype.recoverFromOffsetOutOfRange);
}
