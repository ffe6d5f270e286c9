// What the bonus for cached examples gains and costs: a stream of requests of a few
// topics goes through selection and a llama arm, once with every bonus, each with an arm of its own
// that has the caches of what it was shown. Everything but the bonus is the same.
import { mayContain } from "../../algorithms/numeric/bloom.ts";
import { dot } from "../../algorithms/selection/embedding.ts";
import { exampleId, sharingDomain } from "../../algorithms/identity/identity.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { LoadedLlama } from "../../arms/llama/load.ts";
import type { Candidate } from "../../state/examples/port.ts";
import type { RatingModel } from "../../operators/select/rate.ts";
import { createSelection } from "../../operators/select/selection.ts";
import type { SelectArm, SelectionConfig } from "../../operators/select/selection-types.ts";
import type { StepContext } from "../../runtime/step.ts";
import { plainRequest } from "../../schemas/plain-request.ts";
import type { Piece } from "../../schemas/types.ts";
import { candidateCount, type HelpfulnessData } from "../helpfulness/data.ts";
import { shuffled } from "../support/samples.ts";
import { answer, type Answered, policyNamed } from "./bench-arm.ts";
import { examplePieces } from "./prompts.ts";
import { commandSystem } from "./workloads.ts";
import { everybody } from "../../connections/kv/keys.ts";

export interface BonusPlan {
  topics: number;
  /** Requests per topic. */
  requests: number;
  /** Requests at the beginning that only fill the caches. */
  warmUp: number;
  bonuses: readonly number[];
}

export interface BonusAsked extends Answered {
  bonus: number;
  request: number;
  /**
   * Examples shown, those of them that were cached, and their predicted helpfulness
   * together.
   */
  shown: number;
  cached: number;
  helpfulness: number;
  /** Which, in order. */
  ids: string;
}

export interface BonusOptions {
  plan: BonusPlan;
  data: HelpfulnessData;
  /** As configured by default; its bonus and its exploration are not used. */
  selection: SelectionConfig;
  /** null: similarity stands in. */
  helpfulnessModel: RatingModel | null;
  /** One for each bonus, with nothing in its caches. */
  arms: readonly LoadedLlama[];
  log: StepContext["log"];
  signal: AbortSignal;
  update: (done: number) => void;
}

const seed = 20_261_123;
const tenant = "default";
const domain = sharingDomain(tenant, null);
const arm: SelectArm = {
  ...{ name: "bench", model: "small", cost: 0.05, examples: true },
  ...{ maxTokens: 48, template: "chat-turns" },
};

/** The warm-up is not among them. */
export async function measureBonus(options: BonusOptions): Promise<BonusAsked[]> {
  const { plan, data, arms, signal, update } = options;
  const worlds = plan.bonuses.map((bonus, i) => worldOf(bonus, arms[i]!, options));
  const asked: BonusAsked[] = [];
  for (const [request, index] of streamOf(data, plan).entries()) {
    // None is always the first.
    for (let turn = 0; turn < worlds.length; turn++) {
      signal.throwIfAborted();
      const one = await worlds[(request + turn) % worlds.length]!(index);
      if (request >= plan.warmUp) asked.push({ ...one, request });
    }
    update(request + 1);
  }
  return asked;
}

/**
 * Pairs of the pool as requests: those nearest to a development request, of a few of these, in
 * random order.
 */
export function streamOf({ pool, dev }: HelpfulnessData, { topics, requests }: BonusPlan): number[] {
  const chosen = dev.slice(0, topics).flatMap(({ candidates }) => {
    const seen = new Set<string>();
    const different = candidates.filter(({ index }) => {
      const { request } = pool[index]!;
      return !seen.has(request) && seen.add(request);
    });
    return different.slice(0, requests).map(({ index }) => index);
  });
  return shuffled([...new Set(chosen)], seed);
}

function worldOf(bonus: number, llama: LoadedLlama, { data, selection, helpfulnessModel, log, signal }: BonusOptions) {
  let cached = llama.inventory.summary();
  const select = createSelection({
    pool: { nearest: (_domain, vector, most) => Promise.resolve(nearestOf(data, vector, most)) },
    selection: { ...selection, cachedBonus: bonus, explore: { trials: 0, thresholds: 0, orders: 0 } },
    ...{ arms: () => [arm], clock: () => 0, random: splitmix64(1), helpfulnessModel: () => helpfulnessModel },
    caches: {
      tells: () => true,
      has: (_arm, example) => mayContain({ bits: cached.bloom, hashes: cached.hashes }, example),
    },
  });
  return async (index: number): Promise<Omit<BonusAsked, "request">> => {
    const question = data.pool[index]!.request;
    const request = plainRequest(question, { id: `bench-${index}`, tenant, createdAt: 0 });
    const { byArm, degraded } = await select({ request, domain, question, embedding: data.vectors[index]! }, { log });
    if (degraded.length > 0) throw new Error(`a selection was degraded: ${degraded.join(", ")}`);
    const { examples, verdicts } = byArm.get(arm.name)!;
    const pieces: Piece[] = [
      { kind: "system", id: null, role: "system", text: commandSystem },
      ...examples.flatMap((one) => examplePieces(one.id, one)),
      { kind: "turn", id: null, role: "user", text: question },
    ];
    const chunked = llama.chunked(pieces);
    const prompt = llama.model.keyed(chunked, everybody);
    const answered = await answer(llama, prompt, policyNamed("last-2"), 1, signal);
    llama.inventory.seen(chunked.chunks, prompt.chunks, prompt.domain);
    cached = llama.inventory.summary();
    return {
      ...answered,
      ...{ bonus, shown: examples.length },
      cached: verdicts.filter(({ reason, candidate }) => reason === "shown" && candidate.cached === true).length,
      ids: examples.map(({ id }) => id).join(),
      helpfulness: examples.reduce((sum, { helpfulness }) => sum + helpfulness, 0),
    };
  };
}

/** Nearest pairs of the pool, never a pair of the request itself. */
function nearestOf({ pool, vectors }: HelpfulnessData, vector: Float32Array, most = candidateCount): Candidate[] {
  const asker = pool[vectors.indexOf(vector)]?.request;
  return vectors
    .map((other, index) => ({ index, similarity: dot(vector, other) }))
    .filter(({ index }) => pool[index]!.request !== asker)
    .sort((one, other) => other.similarity - one.similarity)
    .slice(0, most)
    .map(({ index, similarity }) => {
      const { request, response } = pool[index]!;
      return {
        example: {
          ...{ id: exampleId(domain, request, response), tenant, domain, request, response },
          source: { arm: "import", model: "unknown", requestId: null },
          ...{ quality: 1, bytes: 0, expiresAt: null, replays: 0, shown: 0, createdAt: 0 },
        },
        similarity,
        vector: vectors[index]!,
      };
    });
}
