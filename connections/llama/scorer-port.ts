// What the policies of linked prefill ask of a model before a prompt is served: attention between
// chunks, and errors of cached rows. A part of port.ts, which exports it all.
import type { Prompt, Range } from "./prompt-port.ts";

export interface ScorerInput {
  /** Most tokens of a prompt; rounded up to a multiple of 256. */
  contextTokens: number;
  /** Default 1. */
  threads?: number;
  /** f32 or f16; chunk caches must be of it. Default "f16". */
  kvType?: "f32" | "f16";
  /**
   * Tokens computed at a time; their attention weights (tokens x cells x heads, float32) are held
   * for one layer. Default 128.
   */
  batchTokens?: number;
}

export interface AttentionQuestion {
  tokens: Int32Array;
  /**
   * Chunk caches of either flash-attention setting. Tokens that they cover ask nothing, they are
   * only attended to.
   */
  links?: Prompt["links"];
  /** Where the chunks start, ascending, the first 0; the last one ends with the prompt. */
  starts: readonly number[];
  /** Only this many first layers; the deeper ones then cost nothing. Default: all. */
  layers?: number;
}

/**
 * a(k, l): the weight that token l puts on the earlier token k, mean over heads (spec: Cache-Craft
 * scores).
 */
export interface AttentionScores {
  layers: number;
  chunks: number;
  /**
   * layers x chunks x chunks, row-major. [layer, i, j] with i < j: sum of a(k, l) over k in chunk
   * i, l in chunk j (inter); [layer, i, i]: over k < l within chunk i (intra); else 0.
   */
  sums: Float32Array;
  /**
   * For each token l: sum of a(k, l) over all k of earlier chunks, mean over layers, in [0, 1].
   * What ranks a chunk's tokens by inter-attention.
   */
  before: Float32Array;
}

export interface DeviationQuestion {
  tokens: Int32Array;
  links: NonNullable<Prompt["links"]>;
  /**
   * Layers that are compared, [begin, end). Layer 0 sees no other token and so never deviates.
   * Default {begin: 1, end: 2}.
   */
  layers?: Range;
}

/**
 * For each token: squared distance between its linked row and the one of a full prefill, summed
 * over heads and layers; 0 where no cache covers it.
 */
export interface Deviations {
  keys: Float32Array;
  values: Float32Array;
}

/**
 * A context of its own that never serves; answers one question after the other. Rejects with
 * LlamaError.
 */
export interface LlamaScorer {
  /** Costs a prefill of what is not linked (of the wanted layers), without flash attention. */
  attention(question: AttentionQuestion): Promise<AttentionScores>;
  /** Costs a prefill of all tokens down to the last wanted layer: CacheBlend's selection step. */
  deviations(question: DeviationQuestion): Promise<Deviations>;
  close(): Promise<void>;
}
