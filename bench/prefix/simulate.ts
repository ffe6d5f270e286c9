// One way to choose and order examples, played over a stream and block caches.
import { drawIndex, splitmix64 } from "../../algorithms/numeric/random.ts";
import { ordered } from "../../algorithms/selection/example-order.ts";
import { LivePrefixes } from "../../algorithms/selection/live-prefixes.ts";
import { shownStep } from "./shown-count.ts";
import { createBlockCache } from "./block-cache.ts";
import { joined, type Prompts } from "./prompts.ts";
import type { Stream } from "./streams.ts";

/**
 * random, best_last: as serving has them. frequency: the most shown first. tree_frequency: a live
 * prefix first, then the most shown. shared_prefix, as served: a live prefix, the rest best last.
 */
export const ways = ["random", "best_last", "frequency", "tree_frequency", "shared_prefix"] as const;
export type Way = (typeof ways)[number];

export interface Settings {
  way: Way;
  /** Helpfulness that each example may lose at most. */
  bonus: number;
  /** Blocks. */
  capacities: readonly number[];
  /** Plan processes, each with its own memory of prefixes; a request goes to any of them. */
  processes: number;
}

export interface Simulated {
  /** By capacity: shares of all prompt tokens, and of the examples' tokens, that were cached. */
  cached: Map<number, { prompt: number; examples: number }>;
  tokens: number;
  /** Sum of the chosen examples' helpfulness. */
  helpfulness: number;
  /** Counts that changed and were published. */
  published: number;
  /** At the first capacity, request by request: what was not cached. */
  computed: number[];
}

export interface Candidate {
  id: string;
  index: number;
  helpfulness: number;
  similarity: number;
  shown: number;
}

const examples = 5;
/** Requests between two publications of counts, and for which a prefix is live. */
const publishEvery = 200;
const timeToLive = 1_000;

/** What each request is shown, in order. */
export function choices(stream: Stream, { way, bonus, processes }: Omit<Settings, "capacities">) {
  const random = splitmix64(7);
  const uses = new Map<number, number>();
  const steps = new Map<number, number>();
  const memories = Array.from({ length: processes }, () => new LivePrefixes(timeToLive, 100_000));
  let published = 0;
  let helpfulness = 0;

  const publish = (): void => {
    for (const [index, count] of uses) {
      const before = steps.get(index) ?? 0;
      const step = shownStep(count, before);
      if (step !== before) published++;
      steps.set(index, step);
    }
  };
  const chosen = stream.nearest.map((neighbours, now): Candidate[] => {
    if (now % publishEvery === 0) publish();
    const memory =
      memories[
        drawIndex(
          memories.map(() => 1),
          random,
        )
      ]!;
    const candidates = neighbours.map(({ index, similarity }): Candidate => ({
      ...{ id: String(index).padStart(6, "0"), index, helpfulness: similarity, similarity },
      shown: steps.get(index) ?? 0,
    }));
    const sequence = arrange(candidates, memory, now);
    memory.note(
      sequence.map(({ id }) => id),
      now,
    );
    for (const { index, helpfulness: its } of sequence) {
      uses.set(index, (uses.get(index) ?? 0) + 1);
      helpfulness += its;
    }
    return sequence;
  });
  return { chosen, published, helpfulness };

  function arrange(candidates: readonly Candidate[], memory: LivePrefixes, now: number): Candidate[] {
    if (way === "tree_frequency" || way === "shared_prefix") {
      const ids = memory.longest(candidates, examples, bonus * examples, now);
      const first = ids.map((id) => candidates.find((one) => one.id === id)!);
      const rest = candidates.filter((one) => !first.includes(one)).slice(0, examples - first.length);
      return [...first, ...(way === "shared_prefix" ? ordered(rest, "best_last", random) : mostShownFirst(rest))];
    }
    const worth = (one: Candidate): number => one.helpfulness + bonus * Math.min(1, Math.log2(1 + one.shown) / 6);
    const best = [...candidates].sort((a, b) => worth(b) - worth(a)).slice(0, examples);
    return way === "frequency" ? mostShownFirst(best) : ordered(best, way, random);
  }
}

const mostShownFirst = (examples: readonly Candidate[]): Candidate[] =>
  [...examples].sort((a, b) => b.shown - a.shown || a.index - b.index);

export function simulate(stream: Stream, prompts: Prompts, settings: Settings): Simulated {
  const caches = settings.capacities.map((capacity) => ({
    ...{ capacity, cache: createBlockCache(capacity) },
    ...{ all: 0, shown: 0 },
  }));
  const { chosen, published, helpfulness } = choices(stream, settings);
  const computed: number[] = [];
  let tokens = 0;
  let ofExamples = 0;
  chosen.forEach((sequence, question) => {
    const parts = sequence.map(({ index }) => prompts.example(index));
    const prompt = joined([prompts.system, ...parts, prompts.question(question)]);
    const inExamples = parts.reduce((sum, { length }) => sum + length, 0);
    tokens += prompt.length;
    ofExamples += inExamples;
    caches.forEach((one, i) => {
      const hit = one.cache.ask(prompt);
      one.all += hit;
      one.shown += Math.min(inExamples, Math.max(0, hit - prompts.system.length));
      if (i === 0) computed.push(prompt.length - hit);
    });
  });
  return {
    cached: new Map(
      caches.map(({ capacity, all, shown }) => [capacity, { prompt: all / tokens, examples: shown / ofExamples }]),
    ),
    ...{ tokens, helpfulness, published, computed },
  };
}
