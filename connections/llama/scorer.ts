// What policies of linked prefill ask of a model: attention between chunks, and errors of cached
// rows. Questions wait for each other here, not on threads of the pool.
import type { OpenedModel } from "./model.ts";
import { calling, llamaError, native, type NativeContextOptions, type NativeJob, type NativeModel } from "./native.ts";
import { LlamaError, type Prompt, type Range } from "./port.ts";

export interface ScorerInput {
  /** Most tokens of a prompt; rounded up to a multiple of 256. */
  contextTokens: number;
  /** Default 1. */
  threads?: number;
  /** f32 or f16; chunk caches must be of it. Default "f16". */
  kvType?: "f32" | "f16";
  /** Tokens computed at a time; their weights are held for one layer. Default 128. */
  batchTokens?: number;
}

export interface AttentionQuestion {
  tokens: Int32Array;
  /** Chunk caches that are only attended to. */
  links?: Prompt["links"];
  /** Where the chunks start, ascending, the first 0; the last one ends with the prompt. */
  starts: readonly number[];
  /** Only this many first layers; the deeper ones then cost nothing. Default: all. */
  layers?: number;
}

/** a(k, l): weight of token l on the earlier token k, mean over heads. */
export interface AttentionScores {
  layers: number;
  chunks: number;
  /**
   * layers x chunks x chunks, row-major. [layer, i, j], i < j: sum of a(k, l), k in i, l in j;
   * [layer, i, i]: over k < l within i; else 0.
   */
  sums: Float32Array;
  /** For each token: sum of a(k, l) over earlier chunks, mean over layers, [0, 1]. */
  before: Float32Array;
}

export interface DeviationQuestion {
  tokens: Int32Array;
  links: NonNullable<Prompt["links"]>;
  /** Layers that are compared, [begin, end). Default {begin: 1, end: 2}. */
  layers?: Range;
}

/** Squared distance of each linked row from a full prefill's; 0: no cache. */
export interface Deviations {
  keys: Float32Array;
  values: Float32Array;
}

/** A context that never serves; one question at a time. Rejects with LlamaError. */
export interface LlamaScorer {
  /** Costs a prefill of what is not linked (of the wanted layers), without flash attention. */
  attention(question: AttentionQuestion): Promise<AttentionScores>;
  /** Costs a prefill of all tokens down to the last wanted layer: CacheBlend's selection step. */
  deviations(question: DeviationQuestion): Promise<Deviations>;
  /** The question under way is answered first, others reject with "closed". */
  close(): Promise<void>;
}

interface NativeScorer {
  attention(question: {
    tokens: Int32Array;
    links: NativeJob["links"];
    starts: Int32Array;
    layers: number;
  }): Promise<AttentionScores>;
  deviations(question: {
    tokens: Int32Array;
    links: NativeJob["links"];
    firstLayer: number;
    endLayer: number;
  }): Promise<Deviations>;
  close(): void;
}

/** What the addon has besides contexts that serve. */
interface ScorerAddon {
  createScorer(
    model: NativeModel,
    options: Omit<NativeContextOptions, "partTokens" | "mostWaiting" | "pieceBytes" | "contexts">,
  ): Promise<NativeScorer>;
}

export async function openScorer(
  { native: model }: OpenedModel,
  { contextTokens, threads = 1, kvType = "f16", batchTokens = 128 }: ScorerInput,
): Promise<LlamaScorer> {
  const addon = native() as unknown as ScorerAddon;
  const options = { contextTokens, sequences: 1, threads, flashAttention: false, kvType, batchTokens };
  const scorer = await calling(() => addon.createScorer(model, options)).catch((error: unknown) => {
    throw llamaError(error);
  });
  return createScorer(scorer);
}

function createScorer(answering: NativeScorer): LlamaScorer {
  let closed = false;
  let last: Promise<unknown> = Promise.resolve();

  function inTurn<Result>(ask: () => Promise<Result>): Promise<Result> {
    const answer = last.then(async () => {
      if (closed) throw new LlamaError("closed", "the scorer was closed");
      try {
        return await calling(ask);
      } catch (error) {
        throw llamaError(error);
      }
    });
    last = answer.catch(() => undefined);
    return answer;
  }

  return {
    attention: ({ tokens, links, starts, layers = 0 }) =>
      inTurn(() => answering.attention({ tokens, links: nativeLinks(links), starts: Int32Array.from(starts), layers })),
    deviations: ({ tokens, links, layers: { begin, end } = { begin: 1, end: 2 } }) =>
      inTurn(() => answering.deviations({ tokens, links: nativeLinks(links), firstLayer: begin, endLayer: end })),
    async close() {
      closed = true;
      await last;
      answering.close();
    },
  };
}

const nativeLinks = (links: Prompt["links"] = []): { blob: Uint8Array; position: number }[] =>
  links.map(({ blob, position }) => ({ blob, position }));
