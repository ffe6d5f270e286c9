// A fetch from a topic that was deleted makes kafkajs 2.2.4 refresh its metadata and join its group
// again. While the topic is missing the refresh throws and nothing joins: kafkajs fetches again
// after a pause. Where the topic was created anew in that pause, and holds more records than
// before, it reads on at the old offset, and all records before it are lost. Here the join stays
// due until it is done, and no fetch comes before it.
import { internals, type ConsumerGroupLike } from "./kafkajs-internals.ts";

type Fetch = ConsumerGroupLike["fetch"];
type Recover = ConsumerGroupLike["recoverFromFetch"];

const due = new WeakSet<ConsumerGroupLike>();
/** Joins under way: fetches from several brokers share one. */
const joins = new WeakMap<ConsumerGroupLike, Promise<void>>();

/** Wraps ConsumerGroup.recoverFromFetch. */
export const withDueJoin = (recover: Recover): Recover =>
  async function recoverOrJoinLater(this: ConsumerGroupLike, error) {
    const isMissing = error.type === "UNKNOWN_TOPIC_OR_PARTITION";
    if (isMissing) due.add(this);
    await recover.call(this, error);
    if (isMissing) due.delete(this);
  };

async function joinAgain(group: ConsumerGroupLike): Promise<void> {
  await group.cluster.refreshMetadata();
  await group.joinAndSync();
  due.delete(group);
}

/** Wraps ConsumerGroup.fetch. Rejects while the topic is missing; kafkajs tries again. */
export const withJoinFirst = (fetch: Fetch): Fetch =>
  async function joinOrFetch(this: ConsumerGroupLike, nodeId) {
    if (!due.has(this)) return fetch.call(this, nodeId);
    const under = joins.get(this) ?? joinAgain(this).finally(() => joins.delete(this));
    joins.set(this, under);
    await under;
    return [];
  };

export function patchRejoin(): void {
  const { prototype } = internals.ConsumerGroup;
  prototype.recoverFromFetch = withDueJoin(prototype.recoverFromFetch);
  prototype.fetch = withJoinFirst(prototype.fetch);
}
