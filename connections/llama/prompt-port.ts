// One prompt, what may be wanted of it, and what came of it. A part of port.ts, which exports it
// all.

export interface Range {
  begin: number;
  end: number;
}

export interface Prompt {
  /** All of it, at least one. */
  tokens: Int32Array;
  /**
   * Chunk caches and where their first tokens stand. They may not overlap, and must hold the tokens
   * that the prompt has there. Don't change their bytes before the call settles.
   */
  links?: readonly { blob: Uint8Array; position: number }[];
  /**
   * Tokens that are computed although a chunk cache covers them. Each run of neighbouring computed
   * tokens costs a decode at least. Tokens that no cache covers are always computed, and so is the
   * last one when something is generated.
   */
  recompute?: readonly Range[];
  /**
   * Parts of the prompt to export as chunk caches after the prefill, with linked rows as linked and
   * computed rows as computed.
   */
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
  /**
   * none: nothing was asked for; stop: the model or a stop string ended it; length: maxTokens did.
   */
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

/** Milliseconds, from the moment the request got its slot among those that run. */
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
  /**
   * CPU time of the owner thread until the first token (or the prompt's end): with threads 1 and
   * one request at a time, all that it cost.
   */
  cpuFirstMs: number;
  exportedMs: number;
}
