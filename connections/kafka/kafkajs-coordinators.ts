// kafkajs 2.2.4 asks the broker who the coordinator is before every request of a transaction: four
// of its nine round trips. Here the answer is remembered for a moment, for the connections of
// transactional producers only. A coordinator that has moved since answers NOT_COORDINATOR: the
// transaction fails, and its producer is replaced together with what it remembered.
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

export function patchCoordinators(): void {
  const { prototype } = internals.Cluster;
  prototype.findGroupCoordinatorMetadata = rememberingCoordinators(prototype.findGroupCoordinatorMetadata, () =>
    performance.now(),
  );
}
