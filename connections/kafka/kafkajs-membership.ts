// When kafkajs 2.2.4 restarts a consumer (the broker was away, its coordinator was still loading),
// the consumer joins as a new member. The coordinator then waits a whole session timeout for the
// old member, which never returns, and no member gets records; every further hiccup within that
// time repeats this. Here the consumer rejoins with its old member id. If the coordinator has
// forgotten that id, it says so, and the consumer joins as a new member.
// A consumer that its coordinator has forgotten joins anew, too. Where that fails (the coordinator
// has moved, or is still loading), kafkajs lets it fetch without a member id. It then sends no
// heartbeat, never learns that it was removed, and its partitions are read by no member. Here it
// must join first.
import { internals, type ConsumerGroupLike } from "./kafkajs-internals.ts";

type Method = (this: ConsumerGroupLike) => Promise<unknown>;
type Fetch = (this: ConsumerGroupLike, nodeId: string) => Promise<unknown[]>;
type Methods = Record<"connect" | "joinAndSync" | "leave", Method> & { fetch: Fetch };

/** UNKNOWN_MEMBER_ID of Kafka's protocol. kafkajs reacts to it by joining. */
const unknownMember = 25;

/** Wraps methods of a ConsumerGroup, made anew by every start of a consumer. */
function withMembership({ connect, joinAndSync, leave, fetch }: Methods): Methods {
  const members = new WeakMap<object, string>();
  const remember = ({ cluster, memberId }: ConsumerGroupLike): void => {
    if (memberId === null) members.delete(cluster);
    else members.set(cluster, memberId);
  };
  /** Also after a failure: one that joined or could not leave is still a member. */
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

export function patchMembership(): void {
  const { prototype } = internals.ConsumerGroup;
  Object.assign(prototype, withMembership(prototype));
}
