// A consumer that kafkajs 2.2.4 has given up and started again (the broker was away, its
// coordinator was still loading) joins as somebody new. The coordinator then waits for the member
// it was, which never comes: for the whole session timeout nobody gets anything, and once more
// after every further hiccup within that time. Here it comes back as the member it was; a
// coordinator that has forgotten it says so, and it joins anew. A consumer that its coordinator has
// forgotten joins anew; where that fails (the coordinator has moved, or is still loading) kafkajs
// lets it go on fetching as nobody: without a member id it sends no heartbeat, so nobody tells it,
// and nobody reads its partitions. Here it must join first.
import { internals, type ConsumerGroupLike } from "./kafkajs-internals.ts";

type Method = (this: ConsumerGroupLike) => Promise<unknown>;
type Fetch = (this: ConsumerGroupLike, nodeId: string) => Promise<unknown[]>;
type Methods = Record<"connect" | "joinAndSync" | "leave", Method> & { fetch: Fetch };

/** Of Kafka's protocol: UNKNOWN_MEMBER_ID. kafkajs answers it by joining. */
const unknownMember = 25;

/**
 * Wraps methods of a ConsumerGroup, of which every start of a consumer makes a new one on the same
 * cluster object.
 */
function withMembership({ connect, joinAndSync, leave, fetch }: Methods): Methods {
  const members = new WeakMap<object, string>();
  const remember = ({ cluster, memberId }: ConsumerGroupLike): void => {
    if (memberId === null) members.delete(cluster);
    else members.set(cluster, memberId);
  };
  /**
   * Also after a failure: whoever joined and could not finish is a member, whoever could not leave
   * still is one.
   */
  const remembering = (method: Method): Method =>
    async function remembered() {
      try {
        return await method.call(this);
      } finally {
        remember(this);
      }
    };
  return {
    connect: async function returning(this: ConsumerGroupLike) {
      this.memberId ??= members.get(this.cluster) ?? null;
      return connect.call(this);
    },
    joinAndSync: remembering(joinAndSync),
    leave: remembering(leave),
    async fetch(nodeId) {
      if (this.memberId === null) throw internals.errors.createErrorFromCode(unknownMember);
      return fetch.call(this, nodeId);
    },
  };
}

/** Idempotent within a process because the module is loaded once. */
export function patchMembership(): void {
  const { prototype } = internals.ConsumerGroup;
  Object.assign(prototype, withMembership(prototype));
}
