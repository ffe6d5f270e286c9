// kafkajs 2.2.4 asks the broker who the coordinator is before every request of a transaction: four
// of its nine round trips. Here the answer is remembered for a moment, for the connections of
// transactional producers only. A coordinator that has moved since answers NOT_COORDINATOR: the
// transaction fails, and its producer is replaced together with what it remembered.
// kafkajs also drops why no broker names a coordinator: a missing ACL looked like a broker that is
// away, and was waited for.
import { messageOf } from "../errors.ts";
import { coordinatorTypes, internals, type ClusterLike, type CoordinatorQuestion } from "./kafkajs-internals.ts";

export const rememberedMs = 1_000;

interface Remembered {
  at: number;
  answer: Promise<unknown>;
}

/** Wraps findGroupCoordinatorMetadata; clusters without transactions are left alone. */
export function rememberingCoordinators(
  find: (this: ClusterLike, question: CoordinatorQuestion) => Promise<unknown>,
  now: () => number,
): (this: ClusterLike, question: CoordinatorQuestion) => Promise<unknown> {
  const clusters = new WeakMap<ClusterLike, Map<string, Remembered>>();
  return function findGroupCoordinatorMetadata(question) {
    let known: Map<string, Remembered> | undefined = clusters.get(this);
    if (known === undefined) {
      if (question.coordinatorType !== coordinatorTypes.transaction) return find.call(this, question);
      known = new Map<string, Remembered>();
      clusters.set(this, known);
    }
    const key = `${question.coordinatorType}/${question.groupId}`;
    const remembered = known.get(key);
    if (remembered !== undefined && now() - remembered.at < rememberedMs) return remembered.answer;
    const answer = find.call(this, question);
    known.set(key, { at: now(), answer });
    // Failures are not cached.
    answer.catch(() => known.delete(key));
    return answer;
  };
}

type Find = ClusterLike["findGroupCoordinatorMetadata"];

/** Adds what a broker says, asked once more, to the error. */
export function explainingCoordinators(
  find: (this: ClusterLike, ...question: Parameters<Find>) => ReturnType<Find>,
): (this: ClusterLike, ...question: Parameters<Find>) => ReturnType<Find> {
  return async function findGroupCoordinatorMetadata(question) {
    try {
      return await find.call(this, question);
    } catch (error) {
      const broker = Object.values(this.brokerPool.brokers).find((one) => one.isConnected());
      try {
        await broker?.findGroupCoordinator(question);
      } catch (reason) {
        if (error instanceof Error)
          Object.assign(error, { cause: reason, message: `${error.message}: ${messageOf(reason)}` });
      }
      throw error;
    }
  };
}

export function patchCoordinators(): void {
  const { prototype } = internals.Cluster;
  prototype.findGroupCoordinatorMetadata = rememberingCoordinators(
    explainingCoordinators(prototype.findGroupCoordinatorMetadata),
    () => performance.now(),
  );
}
