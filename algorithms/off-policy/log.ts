// The log as off-policy estimators read it (docs/off-policy.md): decisions in typed arrays with
// their candidates, so that a million fit in memory and every pass is linear.
import { bloomHash } from "../numeric/bloom.ts";

/** Decisions in the order in which they were read; candidates are their arms, one after another. */
export interface LoggedChoices {
  /** Names of arms; candidates hold their indexes here. */
  arms: readonly string[];
  /** Candidates of decision i lie at start[i] up to, not including, start[i + 1]. */
  start: Int32Array;
  arm: Int32Array;
  /** Logged propensity, one per candidate. */
  logged: Float64Array;
  /** Normalised cost, [0, 1], one per candidate. */
  cost: Float64Array;
  /** Context x: `dimension` numbers per candidate. */
  x: Float64Array;
  dimension: number;
  chosen: Int32Array;
  /** Reward in [0, 1], NaN without feedback, one per decision. */
  reward: Float64Array;
  /** Fold in [0, folds), by the hash of the request id, one per decision. */
  fold: Uint8Array;
}

/** Parts of the log that a reward model is never fitted on and used for at once. */
export const folds = 5;

/** The fold of a request: the same in every run, whatever else is in the log. */
export const foldOf = (requestId: string): number => bloomHash(requestId)[1] % folds;

export const decisionsOf = (log: Pick<LoggedChoices, "chosen">): number => log.chosen.length;

/** One decision, for who builds a log. */
export interface LoggedDecision {
  requestId: string;
  candidates: readonly { arm: string; logged: number; cost: number; x: ArrayLike<number> }[];
  chosen: number;
  /** null: no feedback. */
  reward: number | null;
}

/** Numbers that are added one by one, in an array that grows by doubling. */
export interface Growing<A> {
  push(value: number): void;
  /** The array of what was pushed; nothing may be pushed afterwards. */
  done(): A;
}

export function growing<A extends Float64Array | Int32Array | Uint8Array>(make: (length: number) => A): Growing<A> {
  let values = make(1_024);
  let length = 0;
  return {
    push(value) {
      if (length === values.length) {
        const larger = make(2 * length);
        larger.set(values);
        values = larger;
      }
      values[length++] = value;
    },
    done: () => values.subarray(0, length) as A,
  };
}

export function createLogBuilder(dimension: number) {
  const indexes = new Map<string, number>();
  const [start, arm, chosenAt] = [0, 0, 0].map(() => growing((length) => new Int32Array(length)));
  const [logged, cost, x, rewards] = [0, 0, 0, 0].map(() => growing((length) => new Float64Array(length)));
  const fold = growing((length) => new Uint8Array(length));
  let at = 0;
  return {
    /**
     * RangeError for a context of another length, an impossible choice, a reward outside [0, 1].
     */
    add({ requestId, candidates, chosen, reward }: LoggedDecision): void {
      const propensity = candidates[chosen]?.logged ?? 0;
      if (!(propensity > 0 && propensity <= 1))
        throw new RangeError(`request ${requestId}: the chosen arm has the probability ${propensity}`);
      if (reward !== null && !(reward >= 0 && reward <= 1))
        throw new RangeError(`request ${requestId}: a reward of ${reward} is not in [0, 1]`);
      const wrong = candidates.find((one) => one.x.length !== dimension);
      if (wrong !== undefined)
        throw new RangeError(`request ${requestId}: a context of ${wrong.x.length} numbers, not ${dimension}`);
      start!.push(at);
      chosenAt!.push(at + chosen);
      rewards!.push(reward ?? Number.NaN);
      fold.push(foldOf(requestId));
      for (const candidate of candidates) {
        if (!indexes.has(candidate.arm)) indexes.set(candidate.arm, indexes.size);
        arm!.push(indexes.get(candidate.arm)!);
        logged!.push(candidate.logged);
        cost!.push(candidate.cost);
        for (let j = 0; j < dimension; j++) x!.push(candidate.x[j]!);
        at++;
      }
    },
    done(): LoggedChoices {
      start!.push(at);
      return {
        ...{ arms: [...indexes.keys()], dimension, start: start!.done(), arm: arm!.done() },
        ...{ logged: logged!.done(), cost: cost!.done(), x: x!.done() },
        ...{ chosen: chosenAt!.done(), reward: rewards!.done(), fold: fold.done() },
      };
    },
  };
}

export function logOf(decisions: readonly LoggedDecision[], dimension: number): LoggedChoices {
  const builder = createLogBuilder(dimension);
  for (const decision of decisions) builder.add(decision);
  return builder.done();
}
