// A consumer that kafkajs 2.2.4 has given up and started again (the broker was away, its coordinator was still loading) joins as somebody new. The
// coordinator then waits for the member it was, which never comes: for the whole session timeout nobody gets anything, and once more after every
// further hiccup within that time. Here it comes back as the member it was; a coordinator that has forgotten it says so, and it joins anew.
import { internals, type ConsumerGroupLike } from "./kafkajs-internals.ts";

type Method = (this: ConsumerGroupLike) => Promise<unknown>;

/** Wraps connect, joinAndSync and leave of a ConsumerGroup, of which every start of a consumer makes a new one on the same cluster object. */
export function withMembership({ connect, joinAndSync, leave }: Record<"connect" | "joinAndSync" | "leave", Method>) {
  const members = new WeakMap<object, string>();
  const remember = ({ cluster, memberId }: ConsumerGroupLike): void => {
    if (memberId === null) members.delete(cluster);
    else members.set(cluster, memberId);
  };
  /** Also after a failure: whoever joined and could not finish is a member, whoever could not leave still is one. */
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
  } satisfies Record<string, Method>;
}

/** Idempotent within a process because the module is loaded once. */
export function patchMembership(): void {
  const { prototype } = internals.ConsumerGroup;
  Object.assign(prototype, withMembership(prototype));
}
