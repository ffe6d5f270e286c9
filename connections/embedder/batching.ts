// From single texts to batches: what waits while the model is busy goes together, texts of similar length side by side (padding is
// wasted work), what was seen is answered from a cache, and the same text asked twice at once is computed once.
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { EmbedderError, type Embedder } from "./port.ts";

export interface BatchingOptions {
  model: string;
  dimension: number;
  /** Vectors one after the other; its rejections are passed on to the texts of the batch. */
  run: (texts: readonly string[]) => Promise<Float32Array>;
  maxBatch: number;
  /** Vectors kept; 0 keeps none. */
  cacheEntries: number;
  /** Texts that may wait; more are rejected with embedder_unavailable. Default 16,384. */
  maxWaiting?: number;
  close: () => Promise<void>;
}

interface Waiting {
  text: string;
  resolve(vector: Float32Array): void;
  reject(error: Error): void;
}

// The oldest text goes with its neighbours in length among this many batches' worth of waiting texts.
const windowBatches = 8;

export function createBatchingEmbedder(options: BatchingOptions): Embedder {
  const { model, dimension, run, maxBatch, cacheEntries, maxWaiting = 16_384 } = options;
  const cache = cacheEntries > 0 ? new LRUCache<string, Float32Array>({ max: cacheEntries }) : null;
  const underWay = new Map<string, Promise<Float32Array>>();
  const waiting: Waiting[] = [];
  let busy = false;
  let closed = false;

  /** The oldest waiting text and those nearest to it in length. */
  const nextBatch = (): Waiting[] => {
    const oldest = waiting[0];
    if (oldest === undefined) return [];
    const window = waiting.slice(0, windowBatches * maxBatch).sort((a, b) => a.text.length - b.text.length);
    const at = window.indexOf(oldest);
    const size = Math.min(maxBatch, window.length);
    const spread = (from: number): number =>
      (window[from + size - 1]?.text.length ?? 0) - (window[from]?.text.length ?? 0);
    let from = Math.max(0, at - size + 1);
    for (let other = from + 1; other <= at && other + size <= window.length; other++)
      if (spread(other) < spread(from)) from = other;
    const batch = new Set(window.slice(from, from + size));
    waiting.splice(0, waiting.length, ...waiting.filter((item) => !batch.has(item)));
    return [...batch];
  };

  const work = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    // One turn of the event loop, so that what is asked together goes together.
    await new Promise(setImmediate);
    for (let batch = nextBatch(); batch.length > 0; batch = nextBatch()) {
      try {
        const vectors = await run(batch.map((item) => item.text));
        if (vectors.length !== batch.length * dimension)
          throw new EmbedderError(
            "embedder_unavailable",
            `${model} gave ${vectors.length} numbers for ${batch.length} texts of dimension ${dimension}`,
          );
        batch.forEach((item, i) => settle(item, vectors.slice(i * dimension, (i + 1) * dimension)));
      } catch (error) {
        const reason = error instanceof Error ? error : new Error(String(error));
        for (const item of batch) item.reject(reason);
      }
    }
    busy = false;
  };

  const settle = (item: Waiting, vector: Float32Array): void => {
    if (vector.every(Number.isFinite)) item.resolve(vector);
    else item.reject(new EmbedderError("not_finite", `${model} gave a vector with NaN or infinite numbers`));
  };

  const compute = (text: string): Promise<Float32Array> => {
    if (closed) return Promise.reject(new EmbedderError("embedder_unavailable", `${model} is closed`));
    if (waiting.length >= maxWaiting)
      return Promise.reject(
        new EmbedderError("embedder_unavailable", `${maxWaiting} texts wait for ${model} already: ask later`),
      );
    return new Promise<Float32Array>((resolve, reject) => {
      waiting.push({ text, resolve, reject });
      void work();
    });
  };

  async function embed(text: string, signal?: AbortSignal): Promise<Float32Array> {
    signal?.throwIfAborted();
    // Keyed by a digest: texts may be a megabyte long, and 50,000 of them are kept.
    const key = createHash("sha256").update(text).digest("base64");
    const known = cache?.get(key);
    if (known !== undefined) return known;
    let vector = underWay.get(key);
    if (vector === undefined) {
      vector = compute(text).then((made) => (cache?.set(key, made), made));
      underWay.set(key, vector);
      const forget = (): void => void underWay.delete(key);
      vector.then(forget, forget);
    }
    return signal === undefined ? vector : untilAborted(vector, signal);
  }

  async function embedAll(texts: readonly string[], onProgress?: (done: number) => void): Promise<Float32Array[]> {
    const vectors: Float32Array[] = new Array<Float32Array>(texts.length);
    // Shortest first, a few batches in the queue at a time: others get their turn in between.
    const order = texts.map((_, i) => i).sort((a, b) => (texts[a] ?? "").length - (texts[b] ?? "").length);
    let next = 0;
    let done = 0;
    const lane = async (): Promise<void> => {
      for (let i = order[next++]; i !== undefined; i = order[next++]) {
        vectors[i] = await embed(texts[i] ?? "");
        onProgress?.(++done);
      }
    };
    await Promise.all(Array.from({ length: Math.min(texts.length, 2 * maxBatch) }, lane));
    return vectors;
  }

  return {
    model,
    dimension,
    embed,
    embedAll,
    async close() {
      closed = true;
      const reason = new EmbedderError("embedder_unavailable", `${model} was closed`);
      for (const item of waiting.splice(0)) item.reject(reason);
      await options.close();
    },
  };
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
