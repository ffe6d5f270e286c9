// A prompt, what may be wanted of it, and what came of it. A part of port.ts.

export interface Range {
  begin: number;
  end: number;
}

export interface Prompt {
  tokens: Int32Array;
  /** Caches at their positions: disjoint, with the prompt's tokens, unchanged until it settles. */
  links?: readonly { blob: Uint8Array; position: number }[];
  /** Tokens computed although cached; each run costs a decode. Uncached ones always are. */
  recompute?: readonly Range[];
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
  /** none: nothing asked; stop: model or stop string; length: maxTokens. */
  finish: "none" | "stop" | "length";
  /** Tokens of the prompt: used as linked, computed although covered, covered by no cache. */
  linked: number;
  recomputed: number;
  prefilled: number;
  runs: number;
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
  /** CPU time of the owner thread until the first token or the prompt's end, ms. */
  cpuFirstMs: number;
  exportedMs: number;
}
