// Texts to unit vectors. Implementations: onnx.ts (worker threads) and hash.ts (unit tests only).

export interface EmbedderFigures {
  waiting: number;
  background: number;
  /** Texts since the start: computed, found in the cache, refused by a full queue. */
  computed: number;
  cached: number;
  refused: number;
}

export interface Embedder {
  /** Names the model and its dimension, e.g. all-MiniLM-L6-v2; a pool never mixes two. */
  readonly model: string;
  readonly dimension: number;
  /**
   * A unit vector. Waiting texts are batched, known ones cached by hash. EmbedderError, at once
   * when the queue is full; the signal's reason when aborted.
   */
  embed(text: string, signal?: AbortSignal): Promise<Float32Array>;
  /** For what has time: requests go first. */
  embedAll(texts: readonly string[], onProgress?: (done: number) => void): Promise<Float32Array[]>;
  figures(): EmbedderFigures;
  close(): Promise<void>;
}

/** embedder_busy: more texts wait than may. */
export type EmbedderErrorCode = "embedder_unavailable" | "embedder_busy" | "not_finite";

export class EmbedderError extends Error {
  constructor(
    readonly code: EmbedderErrorCode,
    message: string,
  ) {
    super(message);
    this.name = "EmbedderError";
  }
}
