// The language model on this machine as linked prefill needs it: prompts whose parts come from chunk caches, and the caches of parts.
// Implemented by model.ts on our addon (native/llama); used inside the llama arm's own process, because native code may crash.
// Tokens are int32 ids, positions count from 0, ranges are [begin, end).
import type { LlamaScorer, ScorerInput } from "./scorer-port.ts";

export type * from "./scorer-port.ts";

export type LlamaErrorCode =
  /** A bug of the caller. */
  | "invalid_argument"
  /** The addon was not built here. */
  | "addon_missing"
  | "model_missing"
  | "model_failed"
  /** The model writes no text (encoder, diffusion, no vocabulary); or links, exports or a scorer are asked of one that can't be linked. */
  | "model_unsupported"
  /** A GPU was asked for and there is none. */
  | "device_missing"
  | "context_failed"
  /** More tokens than the context has cells, or too many requests wait. */
  | "context_full"
  /** A chunk cache of another model, KV type, flash-attention setting or RoPE table. */
  | "blob_foreign"
  /** A chunk cache that is cut short or contradicts itself. */
  | "blob_corrupt"
  | "decode_failed"
  | "cancelled"
  | "closed";

export class LlamaError extends Error {
  override name = "LlamaError";
  constructor(
    readonly code: LlamaErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export interface Device {
  /** "CPU", "CUDA0". */
  name: string;
  description: string;
  kind: "cpu" | "gpu" | "accelerator";
  totalBytes: number;
  freeBytes: number;
}

export interface RopeFacts {
  /** Which dimensions are rotated together: norm (2i, 2i + 1), neox (i, i + dimensions / 2). */
  type: "norm" | "neox";
  /** Of each head. */
  dimensions: number;
  /** Of the frequencies; scale 1 is none. */
  base: number;
  scale: number;
  scaling: string;
  /** YaRN's; extrapolation 0 is no YaRN. */
  extrapolation: number;
  betaFast: number;
  betaSlow: number;
  originalContext: number;
  /** Whether the model brings a factor for each frequency. */
  factors: boolean;
  /** Of the frequencies: caches of models with other tables are foreign. */
  hash: string;
}

export interface ModelFacts {
  /** SHA-256 of the file, hex. */
  fingerprint: string;
  name: string;
  architecture: string;
  description: string;
  /** Jinja; "" when the file has none. */
  chatTemplate: string;
  layers: number;
  heads: number;
  keyHeads: number;
  headDimension: number;
  valueDimension: number;
  embedding: number;
  vocabulary: number;
  trainContext: number;
  parameters: number;
  bytes: number;
  /** -1: none. */
  bos: number;
  eos: number;
  /** Whether prompts begin with bos. */
  addBos: boolean;
  /** That the model runs on: "CPU (AMD EPYC)". */
  devices: string[];
  /** Whether chunk caches can be made and moved. Where not, prompts without links and exports are answered as ever. */
  linkable: boolean;
  /** Why not: sliding window, recurrent, M-RoPE, no RoPE, latent attention, ...; null when it is linkable. */
  unlinkable: string | null;
  /** Null where it is not linkable. */
  rope: RopeFacts | null;
}

export interface ModelInput {
  /** Path of a GGUF file. */
  path: string;
  /** SHA-256 of the file, hex; fingerprintOf computes it (0.3 s for 150 MB), and whoever opens it often keeps it by path, size and time. */
  fingerprint: string;
  /** "gpu": all layers on the first one; rejects with device_missing where there is none. Default "cpu". */
  device?: "cpu" | "gpu";
}

export interface ContextInput {
  /** Cells, shared by all requests: a request takes as many as its prompt has tokens and it may generate. Rounded up to 256s. */
  contextTokens: number;
  /** Requests at a time; others wait. 1 to 120, default 4. */
  sequences?: number;
  /** Default 1. */
  threads?: number;
  /** Default true. Caches made with and without it never mix. */
  flashAttention?: boolean;
  /** Of keys and values; q8_0 needs flash attention and heads of a multiple of 64 dimensions. Default "f16". */
  kvType?: KvType;
  /** Most tokens of one batch; cancelling waits for one. Default 512. */
  batchTokens?: number;
  /** Most prompt tokens of a batch while other requests generate. Default 128. */
  partTokens?: number;
  /** Requests that may wait beyond those that run; more are refused with context_full. Default 256. */
  mostWaiting?: number;
}

export type KvType = "f32" | "f16" | "q8_0";

/** What makes chunk caches exchangeable: those of equal formats (and only those) can be linked into a context. */
export interface ChunkFormat {
  fingerprint: string;
  ropeHash: string;
  kvType: KvType;
  flashAttention: boolean;
  layers: number;
  /** Bytes of a chunk cache for each token; 128 and the token ids come on top. */
  tokenBytes: number;
}

/** The header of a chunk cache. */
export interface ChunkFacts extends ChunkFormat {
  tokens: Int32Array;
  /** Position of its first token where it was computed. */
  first: number;
}

export interface Range {
  begin: number;
  end: number;
}

export interface Prompt {
  /** All of it, at least one. */
  tokens: Int32Array;
  /** Chunk caches and where their first tokens stand. They may not overlap, and must hold the tokens that the prompt has there. Don't change their bytes before the call settles. */
  links?: readonly { blob: Uint8Array; position: number }[];
  /** Tokens that are computed although a chunk cache covers them. Each run of neighbouring computed tokens costs a decode at least. Tokens that no cache covers are always computed, and so is the last one when something is generated. */
  recompute?: readonly Range[];
  /** Parts of the prompt to be taken as chunk caches once it is there, as they are then: linked rows as linked, computed rows as computed. */
  exports?: readonly Range[];
  /** Ascending positions whose logits are wanted; they must be computed ones. At most 4,096. */
  logitsAt?: readonly number[];
  /** Tokens to generate at most. Default 0. */
  maxTokens?: number;
  /** 0 (default) is greedy. */
  temperature?: number;
  /** (0, 1], default 1. */
  topP?: number;
  /** uint32, default 0. */
  seed?: number;
  /** The answer ends before the first of these. */
  stop?: readonly string[];
}

export interface RunOptions {
  /** Aborting rejects with "cancelled" after the batch under way. */
  signal?: AbortSignal;
  /** The answer in parts, stop strings left out. */
  onText?: (text: string) => void;
  /** Tokens computed since the last call: of the prompt, and one for each generated. */
  onProgress?: (tokens: number) => void;
}

export interface RunResult {
  text: string;
  generated: Int32Array;
  /** none: nothing was asked for; stop: the model or a stop string ended it; length: maxTokens did. */
  finish: "none" | "stop" | "length";
  /** Tokens of the prompt: used as linked, computed although covered, covered by no cache. */
  linked: number;
  recomputed: number;
  prefilled: number;
  /** Runs of computed tokens. */
  runs: number;
  /** In the order of `exports`. */
  blobs: Uint8Array[];
  /** Row-major, logitsAt.length x vocabulary. */
  logits: Float32Array;
  timings: Timings;
}

/** Milliseconds, from the moment the request got its place among those that run. */
export interface Timings {
  /** Before that. */
  queuedMs: number;
  /** The link itself. */
  linkedMs: number;
  /** Until the whole prompt was there. */
  prefilledMs: number;
  /** Until the first token; 0 without one. */
  firstMs: number;
  totalMs: number;
  /** CPU time of the owner thread until the first token (or the prompt's end): with threads 1 and one request at a time, all that it cost. */
  cpuFirstMs: number;
  exportedMs: number;
}

export interface LlamaContext {
  /** Without layers where it is not linkable. */
  readonly format: ChunkFormat;
  /** Null: prompts may have links and exports. Else why not: as in the model's facts, or because a probe has found that its RoPE or its cache is not as we understand it. */
  readonly unlinkable: string | null;
  /** Whether all that a prompt computes goes into one batch, instead of a batch for each run: so with the scattered addon (library.ts). */
  readonly scattered: boolean;
  readonly cells: number;
  /** Rejects with LlamaError; model_unsupported where links or exports are asked of a context that is not linkable. Any number at a time. */
  run(prompt: Prompt, options?: RunOptions): Promise<RunResult>;
  /** What is under way rejects with "closed". */
  close(): Promise<void>;
}

export interface LlamaModel {
  readonly facts: ModelFacts;
  /** Without BOS. control: texts of control tokens become these tokens; otherwise (default) they are text like any other, as what users write must be. */
  tokenize(text: string, options?: { control?: boolean }): Int32Array;
  detokenize(tokens: Int32Array, options?: { control?: boolean }): string;
  /** Whether this token ends an answer. */
  isEnd(token: number): boolean;
  openContext(input: ContextInput): Promise<LlamaContext>;
  openScorer(input: ScorerInput): Promise<LlamaScorer>;
  /** Contexts and scorers that are open go on. */
  close(): void;
}
