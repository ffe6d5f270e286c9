// bench -- prefix: what the order of examples is worth to an engine that caches prefixes. Streams
// are played over a simulation of vLLM's block cache with a real tokenizer; helpfulness is the
// similarity, as in serving before a model is learned. Best last is the baseline, a random order
// the control. Then a part of one stream at a real llama-server, and the orders' price in reward.
import { modelFile } from "../../config/models.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { mean, significant } from "../support/statistics.ts";
import { messageOf } from "../../connections/errors.ts";
import { builtLlamaServer } from "./llama-server.ts";
import { orderPrices } from "./order-price.ts";
import { playRealEngine, type RealEngine } from "./real-engine.ts";
import { openChat, promptsOf, type Prompts } from "./prompts.ts";
import { loadStreams, type Stream } from "./streams.ts";
import { simulate, type Settings, type Simulated, type Way, ways } from "./simulate.ts";

export const prefix: Benchmark = {
  name: "prefix",
  about: "orders of examples at engines that cache prefixes, and their price in reward",
  run,
};

const capacities = [20_000, 2_000, 50_000];
/** Tokens a second that the predicted time to first token assumes: a 7B model on one GPU. */
const prefillPerSecond = 10_000;
const bonuses = { frequency: [0, 0.1, 0.2], tree_frequency: [0, 0.02, 0.05, 0.1], shared_prefix: [0, 0.02, 0.05, 0.1] };
const requestsOf = { quick: 500, full: 2_000 };

async function run(context: BenchContext): Promise<Measured> {
  const requests = context.quick ? requestsOf.quick : requestsOf.full;
  const streams = await loadStreams(context, requests);
  const rows = await context.checkpoints.part("simulated", () => simulated(streams));
  const [nl2bash] = streams as [Stream, ...Stream[]];
  const real = await context.checkpoints.part("llama-server", () => realEngine(context, nl2bash));
  const prices = await orderPrices(context, nl2bash);
  const isReal = typeof real !== "string";
  const of = (name: Stream["name"], way: Way, bonus = 0, processes = 1): Row =>
    rows.find((row) => row.stream === name && row.way === way && row.bonus === bonus && row.processes === processes)!;
  const headline = (figure: (row: Row) => number) =>
    Object.fromEntries(ways.map((way) => [way, significant(mean(streams.map(({ name }) => figure(of(name, way)))))]));
  const served = streams.map(({ name }) => ({
    stream: name,
    ratio_same_examples: significant(of(name, "shared_prefix").examples_cached / of(name, "best_last").examples_cached),
    ratio_served: significant(of(name, "shared_prefix", 0.02).examples_cached / of(name, "best_last").examples_cached),
    prompt_ratio_same_examples: significant(
      of(name, "shared_prefix").prompt_cached / of(name, "best_last").prompt_cached,
    ),
    prompt_ratio_served: significant(
      of(name, "shared_prefix", 0.02).prompt_cached / of(name, "best_last").prompt_cached,
    ),
    helpfulness_kept: of(name, "shared_prefix", 0.02).helpfulness_kept,
  }));
  return {
    figures: {
      requests,
      cached_share: headline((row) => row.prompt_cached),
      helpfulness_kept: headline((row) => row.helpfulness_kept),
      capacity: Object.fromEntries(
        capacities.map((capacity) => [capacity, headline((row) => row.by_capacity[capacity]!)]),
      ),
      served,
      rows: rows.map(({ by_capacity: _by, ...row }) => row),
      llama_server: isReal ? real : null,
      reward_price: prices,
    },
    reasons: isReal ? {} : { llama_server: real },
  };
}

async function simulated(streams: readonly Stream[]): Promise<Row[]> {
  const { chat, close } = await openChat(modelFile());
  try {
    return streams.flatMap((stream) => rowsOf(stream, promptsOf(stream, chat)));
  } finally {
    close();
  }
}

/** Why it could not be measured, else the figures. */
async function realEngine(context: BenchContext, stream: Stream): Promise<RealEngine | string> {
  context.signal.throwIfAborted();
  let program: string;
  try {
    program = await builtLlamaServer(context.note);
  } catch (error) {
    return `llama-server can't be built: ${messageOf(error)}`;
  }
  return playRealEngine(context, stream, program);
}

interface Row {
  stream: Stream["name"];
  way: Way;
  bonus: number;
  processes: number;
  /** At the first capacity: shares of all prompt tokens, and of the examples' tokens. */
  prompt_cached: number;
  examples_cached: number;
  predicted_ttft_ms: number;
  helpfulness_kept: number;
  published: number;
  /** Shares of all prompt tokens. */
  by_capacity: Record<number, number>;
}

function rowsOf(stream: Stream, prompts: Prompts): Row[] {
  const play = (settings: Omit<Settings, "capacities">): Simulated =>
    simulate(stream, prompts, { ...settings, capacities });
  const base = play({ way: "best_last", bonus: 0, processes: 1 });
  return ways.flatMap((way) => {
    const tried = way === "random" || way === "best_last" ? [0] : bonuses[way];
    const spread = way === "tree_frequency" || way === "shared_prefix" ? [1, 4] : [1];
    return tried.flatMap((bonus) =>
      spread.map((processes): Row => {
        const { cached, helpfulness, published, computed } = play({ way, bonus, processes });
        const first = cached.get(capacities[0]!)!;
        return {
          ...{ stream: stream.name, way, bonus, processes, published },
          prompt_cached: significant(first.prompt),
          examples_cached: significant(first.examples),
          predicted_ttft_ms: significant((1_000 * mean(computed)) / prefillPerSecond),
          helpfulness_kept: significant(helpfulness / base.helpfulness),
          by_capacity: Object.fromEntries([...cached].map(([capacity, { prompt }]) => [capacity, significant(prompt)])),
        };
      }),
    );
  });
}
