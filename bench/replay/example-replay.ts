// The part of bench -- replay with examples: nl2bash, answers of a known part of the pool degraded;
// quality regained per replay when the order is that of the gain, of the use count, or random.
import { join } from "node:path";
import { dot } from "../../algorithms/selection/embedding.ts";
import { mean } from "../support/statistics.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { BenchContext, Figures } from "../benchmark.ts";
import { sharingDomain } from "../../algorithms/identity/identity.ts";
import { missingData, readItems } from "../ladder/data.ts";
import { embeddings } from "../loop/history.ts";
import { pairedBootstrap } from "../support/bootstrap.ts";
import { importedExample } from "../support/examples.ts";
import { readLines, shuffled } from "../support/samples.ts";
import { orders, playRound, type Order, type Round, type RoundData } from "./rounds.ts";
import { dataFolder } from "../support/data-file.ts";

const seed = 20_261_123;
const shownCount = 3;
const settings = { degraded: 0.2, uses: 2_000, hours: 48 };

export interface ExampleReplay {
  figures: Figures;
  reasons?: Record<string, string>;
}

export async function measureExampleReplay(context: BenchContext): Promise<ExampleReplay> {
  const missing = missingData(undefined);
  if (missing.length > 0)
    return {
      figures: { quality_per_replay: null },
      reasons: { quality_per_replay: "nl2bash is not there: set PRECEDENT_DATA to the folder that holds it" },
    };
  const size = context.quick ? 500 : 2_000;
  const rounds = context.quick ? 20 : 100;
  const replays = size / 20;
  const data = await readData(context, size);
  const bar = context.progress("replaying examples", rounds, "rounds");
  const played: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    context.signal.throwIfAborted();
    played.push(await playRound(data, { ...settings, replays, random: splitmix64(seed + round) }));
    bar.update(round + 1);
  }
  bar.finish();
  return { figures: figuresOf(played, { size, rounds, replays }) };
}

function figuresOf(played: readonly Round[], used: { size: number; rounds: number; replays: number }): Figures {
  const of = (order: Order): number[] => played.map(({ perReplay }) => perReplay[order]);
  const against = (order: Order) => {
    const { difference, low, high } = pairedBootstrap(of("gain"), of(order), { random: splitmix64(seed) });
    return { difference: digits(difference), low: digits(low), high: digits(high) };
  };
  const by = (value: (order: Order) => number): Record<string, number> =>
    Object.fromEntries(orders.map((order) => [order, digits(value(order))]));
  return {
    quality_per_replay: by((order) => mean(of(order))),
    quality_per_replay_gain_less_random: against("random"),
    quality_per_replay_gain_less_uses: against("uses"),
    // Share regained of what the wrong answers lost.
    regained_share: by((order) =>
      mean(played.map(({ perReplay, before, best }) => (perReplay[order] * used.replays) / (best - before))),
    ),
    replaced_share: by((order) => mean(played.map(({ replaced }) => replaced[order] / used.replays))),
    quality_before: digits(mean(played.map(({ before }) => before))),
    quality_all_right: digits(mean(played.map(({ best }) => best))),
    examples: used.size,
    examples_degraded_share: settings.degraded,
    examples_replayed: used.replays,
    example_rounds: used.rounds,
    example_source_model: "recorded answers of the data",
    example_answers: "simulated: that of the nearest of three examples shown, by token F1",
  };
}

const digits = (value: number): number => Number(value.toPrecision(3));

async function readData(context: BenchContext, size: number): Promise<RoundData> {
  const pairs = await readLines<{ request: string; response: string }>(join(dataFolder(), "nl2bash-train.jsonl"));
  const known = shuffled(pairs, seed).slice(0, size);
  const of = { tenant: "default", domain: sharingDomain("default", null), createdAt: 0 };
  const { model, vectors: stored } = await embeddings(
    known.map(({ request }) => request),
    context,
  );
  const pool = known.map((pair, i) => importedExample(pair, stored[i]!, { ...of, embeddingModel: model }));
  const items = await readItems(undefined);
  const { vectors } = await embeddings(
    items.map(({ request }) => request),
    context,
  );
  const held = pool.map(({ embedding }) => floats(embedding));
  return {
    pool,
    asked: items.map(({ references }, i) => {
      const vector = floats(vectors[i]!);
      const near = held
        .map((other, index) => ({ index, similarity: dot(vector, other) }))
        .sort((a, b) => b.similarity - a.similarity);
      return { references, shown: near.slice(0, shownCount).map(({ index }) => index) };
    }),
  };
}

const floats = (bytes: Buffer): Float32Array =>
  Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
