// The hours of a workload under splits of the bytes: the response cache and the pool of examples
// with the policies that serve, and what they save beside asking the large arm each time.
import { anytimeKnapsack } from "../../algorithms/selection/anytime-knapsack.ts";
import { createAdaptive } from "../../algorithms/response-cache/adaptive.ts";
import type { ByteBudgetBody } from "../../state/policies/byte-budget.ts";
import { createSimulatedPool, type Candidate } from "../support/simulated-pool.ts";
import type { Pair } from "../support/samples.ts";
import type { Asked, Workload } from "./workload.ts";

/** Normalised costs of the arms. */
export const costs = { small: 0.1, large: 1 } as const;

/** How a request was answered, for who estimates what bytes are worth. */
export interface Answered {
  asked: Asked;
  key: string;
  /** null: from the cache. */
  arm: keyof typeof costs | null;
  /** Whether the example was shown. */
  shown: boolean;
}

export interface Ended {
  answered: Answered[];
  /** Examples that came and left in this hour. */
  came: number[];
  left: number[];
}

export interface Played {
  /** Of the measured hours: costs that were saved, as a share of asking the large arm each time. */
  saved: number;
  last: ByteBudgetBody;
}

export interface PlayOptions {
  first: ByteBudgetBody;
  /** Hours that are not measured: caches are cold. */
  warmUp: number;
  /** The split of the next hour; absent: it stays. */
  after?: (hour: number, ended: Ended, split: ByteBudgetBody) => Promise<ByteBudgetBody>;
}

/** A kept answer has so many bytes beside its texts (state/response-cache/entries.ts). */
const overheadBytes = 1_024;

/** What a kept answer weighs in the response cache. */
export const answerBytes = ({ request, response }: Pair): number =>
  overheadBytes + Buffer.byteLength(request) + Buffer.byteLength(response);

/** Rounds of improvement for each of curate's choices; a count, so that every run is the same. */
const solveRounds = 200;

export async function play({ questions, hours }: Workload, { first, warmUp, after }: PlayOptions): Promise<Played> {
  let split = first;
  const cache = createAdaptive(split.responses);
  const pool = createSimulatedPool({ items: questions, choose });
  let [saved, possible, words] = [0, 0, 0];

  function answer(asked: Asked): { answered: Answered; saved: number } {
    const { item, repeats, succeeds } = asked;
    const { pair, length } = questions[item]!;
    const key = repeats ? `q${item}` : `q${item}, ${words++}`;
    pool.arrive();
    if (cache.arrive(key).hit) return { answered: { asked, key, arm: null, shown: false }, saved: length };
    const shown = pool.has(item);
    const arm = shown && succeeds ? "small" : "large";
    if (shown) pool.use(item, succeeds ? 1 : 0);
    cache.answered(key, answerBytes(pair), costs[arm] * length);
    return { answered: { asked, key, arm, shown }, saved: (costs.large - costs[arm]) * length };
  }

  for (const [hour, uses] of hours.entries()) {
    const ended: Ended = { answered: [], came: [], left: [] };
    for (const asked of uses) {
      const one = answer(asked);
      ended.answered.push(one.answered);
      if (hour >= warmUp) {
        saved += one.saved;
        possible += questions[asked.item]!.length;
      }
      if (one.answered.arm === null || one.answered.shown || !asked.returns) continue;
      pool.admit(asked.item, hour);
      ended.came.push(asked.item);
    }
    ended.left = pool.endHour(hour + 1, split.examples);
    if (after === undefined) continue;
    split = await after(hour, ended, split);
    cache.resize(split.responses);
  }
  return { saved: saved / possible, last: split };
}

function choose(candidates: readonly Candidate[], capacity: number): readonly number[] {
  let rounds = 0;
  const items = candidates.map(({ value, bytes }) => ({ value, weight: bytes }));
  return anytimeKnapsack(items, capacity, () => rounds++ < solveRounds).kept;
}
