// Texts to unit vectors. Implementations: onnx.ts (worker threads) and hash.ts (unit tests only).

export interface Embedder {
  /** Names the model and its dimension, e.g. all-MiniLM-L6-v2; a pool never mixes two. */
  readonly model: string;
  readonly dimension: number;
  /** One vector of unit length; what waits is batched, what was seen is cached by text. Rejects with EmbedderError. */
  embed(text: string, signal?: AbortSignal): Promise<Float32Array>;
  embedAll(texts: readonly string[], onProgress?: (done: number) => void): Promise<Float32Array[]>;
  close(): Promise<void>;
}

/** code: embedder_unavailable, not_finite. */
export class EmbedderError extends Error {
  constructor(
    readonly code: "embedder_unavailable" | "not_finite",
    message: string,
  ) {
    super(message);
    this.name = "EmbedderError";
  }
}
