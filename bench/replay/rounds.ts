// One round of the comparison of orders in which examples are replayed: a pool of which a part has
// wrong answers, traffic that uses it, and then as many replays in each order. What is replayed
// goes through the product's own code (replayExample, a judge with references); what an answer is
// worth with the examples shown is simulated. Pure but for that; the random source is passed in.
import { decayedGain, useGain } from "../support/gain.ts";
import { bestTokenF1 } from "../../algorithms/text/token-f1.ts";
import type { Random } from "../../algorithms/numeric/random.ts";
import type { Arm } from "../../arms/arm.ts";
import { createReferenceJudge } from "../../operators/example-replay/judge.ts";
import { replayExample } from "../../operators/example-replay/example-replay.ts";
import { canonicalText } from "../../algorithms/text/canonical.ts";
import type { Example } from "../../schemas/types.ts";
import { NO_USAGE } from "../../schemas/no-usage.ts";

export interface RoundData {
  /** With their right answers; ids are unique. */
  pool: readonly Example[];
  /** shown: indices in the pool, nearest first. */
  asked: readonly { references: readonly string[]; shown: readonly number[] }[];
}

export interface RoundOptions {
  /** Share of the pool whose answers are another request's. */
  degraded: number;
  /** Requests before the replays, over so many hours. */
  uses: number;
  hours: number;
  replays: number;
  random: Random;
}

export const orders = ["gain", "random", "uses"] as const;
export type Order = (typeof orders)[number];

export interface Round {
  /** Mean quality of the traffic before, and with all answers right. */
  before: number;
  best: number;
  /** Quality regained for each replay, and replays that replaced an answer, by order. */
  perReplay: Record<Order, number>;
  replaced: Record<Order, number>;
}

export async function playRound(data: RoundData, options: RoundOptions): Promise<Round> {
  const { random } = options;
  const { pool, asked } = data;
  const responses = degradedResponses(pool, options);
  // Requests come as often as their rank says (Zipf), in an order of each round's own.
  const order = shuffledIndexes(asked.length, random);
  const shares = zipf(asked.length);
  const shareOf = new Map(order.map((request, rank) => [request, shares[rank]!]));
  const memo = new Map<string, number>();
  const qualityOf = (request: number, text: string): number => {
    const key = `${request}\n${text}`;
    const known = memo.get(key) ?? bestTokenF1(text, asked[request]!.references);
    memo.set(key, known);
    return known;
  };
  /** The answer is that of the nearest example. */
  const quality = (of: readonly string[]): number =>
    asked.reduce((sum, { shown }, i) => sum + shareOf.get(i)! * qualityOf(i, of[shown[0]!]!), 0);

  const totals = pool.map((): { hour: number; total: number }[] => []);
  const uses = pool.map(() => 0);
  for (let use = 0; use < options.uses; use++) {
    const request = order[rankOf(shares, random())]!;
    const { shown } = asked[request]!;
    const total = useGain(qualityOf(request, responses[shown[0]!]!), 1);
    const hour = Math.floor((use / options.uses) * options.hours);
    for (const example of shown) {
      totals[example]!.push({ hour, total });
      uses[example]!++;
    }
  }
  const gains = totals.map((of) => decayedGain(of, options.hours));
  const by = (value: (index: number) => number): number[] =>
    [...pool.keys()].sort((a, b) => value(b) - value(a) || a - b);
  const drawn = shuffledIndexes(pool.length, random);
  const ranked: Record<Order, number[]> = { gain: by((i) => gains[i]!), uses: by((i) => uses[i]!), random: drawn };

  const before = quality(responses);
  const round: Round = {
    before,
    best: quality(pool.map(({ response }) => response)),
    perReplay: { gain: 0, random: 0, uses: 0 },
    replaced: { gain: 0, random: 0, uses: 0 },
  };
  for (const name of orders) {
    const after = [...responses];
    for (const index of ranked[name].slice(0, options.replays)) {
      const replaced = await replayed({ ...pool[index]!, response: responses[index]! }, pool[index]!.response);
      if (replaced === undefined) continue;
      after[index] = replaced;
      round.replaced[name]++;
    }
    round.perReplay[name] = (quality(after) - before) / options.replays;
  }
  return round;
}

/** The source model says what the data has; undefined: the stored answer stays. */
async function replayed(example: Example, right: string): Promise<string | undefined> {
  const arm: Pick<Arm, "answer" | "model" | "name"> = {
    ...{ name: "recorded", model: "recorded" },
    answer: () =>
      Promise.resolve({
        ...{ kind: "answer", text: right, finishReason: "stop", model: "recorded", cost: 0, attempts: 1, queueMs: 0 },
        ...{
          firstTokenMs: null,
          usage: { ...NO_USAGE },
        },
      }),
  };
  const judge = createReferenceJudge(new Map([[canonicalText(example.request), [right]]]));
  const { changes, newId } = await replayExample(
    example,
    {
      ...{ arm, judge, system: undefined, samples: 1, temperature: 0, personalData: {}, callMs: 1_000 },
      ...{ affords: () => true, mayAsk: () => Promise.resolve(true), clock: () => 0 },
    },
    new AbortController().signal,
  );
  return newId === null ? undefined : changes.find(({ value }) => value !== null)?.value?.response;
}

function degradedResponses(pool: readonly Example[], { degraded, random }: RoundOptions): string[] {
  const responses = pool.map(({ response }) => response);
  for (const index of shuffledIndexes(pool.length, random).slice(0, Math.round(degraded * pool.length)))
    responses[index] = pool[(index + 1 + Math.floor(random() * (pool.length - 1))) % pool.length]!.response;
  return responses;
}

const shuffledIndexes = (count: number, random: Random): number[] =>
  Array.from({ length: count }, (_, index) => ({ index, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ index }) => index);

function zipf(count: number): number[] {
  const weights = Array.from({ length: count }, (_, rank) => 1 / (rank + 1));
  const sum = weights.reduce((all, weight) => all + weight, 0);
  return weights.map((weight) => weight / sum);
}

function rankOf(shares: readonly number[], draw: number): number {
  let left = draw;
  const found = shares.findIndex((share) => (left -= share) < 0);
  return found === -1 ? shares.length - 1 : found;
}
