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
  close(): Promise<void>;
}
