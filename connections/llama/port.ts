// The local language model for linked prefill: prompts with parts from chunk caches. Used in the
// llama arm's own process (native code may crash). Tokens int32, positions from 0, ranges [begin,
// end).
import type { ChunkFormat, KvType, ModelFacts } from "./facts-port.ts";
import type { Prompt, RunOptions, RunResult } from "./prompt-port.ts";

export type * from "./facts-port.ts";
export type * from "./prompt-port.ts";

export type LlamaErrorCode =
  /** A bug of the caller. */
  | "invalid_argument"
  /** The addon was not built here. */
  | "addon_missing"
  | "model_missing"
  | "model_failed"
  /** The model writes no text, or links or exports are asked of an unlinkable one. */
  | "model_unsupported"
  /** A GPU, or a device of this name, was asked for and there is none. */
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

export interface ModelInput {
  path: string;
  /** SHA-256 of the file, hex; 0.3 s for 150 MB, so callers cache it. */
  fingerprint: string;
  /** cpu (default); auto: the best device; gpu: all discrete GPUs; or the name of one. */
  device?: string;
  /** Layers on the device, from the last. Default all. */
  gpuLayers?: number | undefined;
}

export type FlashAttention = "auto" | "on" | "off";

export interface ContextInput {
  /** Cells of one context, which requests share, rounded up to 256s. */
  contextTokens: number;
  /** Contexts of that size. Requests above 1,024 cells together get one each. Default 1. */
  contexts?: number;
  /** Requests at a time; others wait. 1 to 120, default 4. */
  sequences?: number;
  /** Default 1. */
  threads?: number;
  /** Default auto: where the devices compute it. Caches with and without never mix. */
  flashAttention?: FlashAttention;
  /** q8_0 needs flash attention and heads of a multiple of 64 dimensions. Default "f16". */
  kvType?: KvType;
  /** Most tokens of one batch; cancelling waits for one. Default 512. */
  batchTokens?: number;
  /** Most prompt tokens of a batch while other requests generate. Default 128. */
  partTokens?: number;
  /** Requests that may wait; more are refused with context_full. Default 256. */
  mostWaiting?: number;
  /** Most bytes of caches moved at a time between two batches. Default 4 MiB. */
  pieceBytes?: number;
}

export interface LlamaContext {
  /** Without layers where it is not linkable. */
  readonly format: ChunkFormat;
  /** Null: linkable. Else why not, by the model's facts or by a probe. */
  readonly unlinkable: string | null;
  /** Whether all that a prompt computes goes into one batch (scattered addon). */
  readonly scattered: boolean;
  readonly cells: number;
  /** LlamaError model_unsupported for links or exports where not linkable. Concurrent. */
  run(prompt: Prompt, options?: RunOptions): Promise<RunResult>;
  /** What is under way rejects with "closed". */
  close(): Promise<void>;
}

export interface LlamaModel {
  readonly facts: ModelFacts;
  /** Without BOS. control: control tokens in the text count as such; default false. */
  tokenize(text: string, options?: { control?: boolean }): Int32Array;
  detokenize(tokens: Int32Array, options?: { control?: boolean }): string;
  /** Whether this token ends an answer. */
  isEnd(token: number): boolean;
  openContext(input: ContextInput): Promise<LlamaContext>;
  /** Contexts that are open go on. */
  close(): void;
}
