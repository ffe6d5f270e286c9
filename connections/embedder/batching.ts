// Batches texts that wait while the model is busy (queue.ts); known and concurrent equal texts are
// not computed twice, abandoned ones not at all. A full queue refuses at once.
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { errorOf } from "../errors.ts";
import { EmbedderError, type Embedder } from "./port.ts";
import { createEmbedQueue } from "./queue.ts";

export interface BatchingOptions {
  model: string;
  dimension: number;
  /** Vectors one after the other; its rejections are passed on to the texts of the batch. */
  run: (texts: readonly string[]) => Promise<Float32Array>;
  /** Batches at a time: as many as can be computed side by side. Default 1. */
  atOnce?: number;
  maxBatch: number;
  /** Cached vectors; 0: none. */
  cacheEntries: number;
  /** Texts of requests that may wait; more are rejected with embedder_busy. Default 1,024. */
  maxWaiting?: number;
  close: () => Promise<void>;
}

interface Item {
  key: string;
  text: string;
  background: boolean;
  callers: number;
  vector: Promise<Float32Array>;
  resolve(vector: Float32Array): void;
  reject(error: Error): void;
}

export function createBatchingEmbedder(options: BatchingOptions): Embedder {
  const { model, dimension, run, atOnce = 1, maxBatch, cacheEntries, maxWaiting = 1_024 } = options;
  const cache = cacheEntries > 0 ? new LRUCache<string, Float32Array>({ max: cacheEntries }) : null;
  const underWay = new Map<string, Item>();
  const queue = createEmbedQueue<Item>(maxBatch);
  const counts = { computed: 0, cached: 0, refused: 0 };
  let working = 0;
  let closed = false;

  const work = async (): Promise<void> => {
    if (working >= atOnce) return;
    working++;
    // One turn of the event loop, so that what is asked together goes together.
    await new Promise(setImmediate);
    for (let batch = queue.next(); batch.length > 0; batch = queue.next()) {
      try {
        const vectors = await run(batch.map((item) => item.text));
        if (vectors.length !== batch.length * dimension)
          throw new EmbedderError(
            "embedder_unavailable",
            `${model} gave ${vectors.length} numbers for ${batch.length} texts of dimension ${dimension}`,
          );
        counts.computed += batch.length;
        batch.forEach((item, i) => settle(item, vectors.slice(i * dimension, (i + 1) * dimension)));
      } catch (error) {
        const reason = errorOf(error);
        for (const item of batch) item.reject(reason);
      }
    }
    working--;
  };

  const settle = (item: Item, vector: Float32Array): void => {
    if (vector.every(Number.isFinite)) {
      cache?.set(item.key, vector);
      item.resolve(vector);
    } else item.reject(new EmbedderError("not_finite", `${model} gave a vector with NaN or infinite numbers`));
  };

  function begin(key: string, text: string, background: boolean): Item {
    let [resolve, reject]: [Item["resolve"], Item["reject"]] = [() => undefined, () => undefined];
    const vector = new Promise<Float32Array>((...both) => ([resolve, reject] = both));
    const item: Item = { key, text, background, callers: 0, vector, resolve, reject };
    underWay.set(key, item);
    // Callers get the error from the vector itself.
    const forget = (): boolean => underWay.get(key) === item && underWay.delete(key);
    vector.then(forget, forget);
    queue.add(item);
    void work();
    return item;
  }

  async function ask(text: string, background: boolean, signal?: AbortSignal): Promise<Float32Array> {
    signal?.throwIfAborted();
    // Cached by digest: texts may be a megabyte long, and there are 50,000 entries.
    const key = hash("sha256", text, "base64");
    const known = cache?.get(key);
    if (known !== undefined) {
      counts.cached++;
      return known;
    }
    if (closed) throw new EmbedderError("embedder_unavailable", `${model} is closed`);
    let item = underWay.get(key);
    if (item === undefined) {
      if (!background && queue.waiting().requests >= maxWaiting) {
        counts.refused++;
        throw new EmbedderError("embedder_busy", `${maxWaiting} texts wait for ${model} already`);
      }
      item = begin(key, text, background);
    } else if (item.background && !background && queue.remove(item)) {
      item.background = false;
      queue.add(item);
    }
    item.callers++;
    return signal === undefined ? item.vector : untilAborted(item, signal);
  }

  function untilAborted(item: Item, signal: AbortSignal): Promise<Float32Array> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        const reason = signal.reason as Error;
        reject(reason);
        if (--item.callers === 0 && queue.remove(item)) item.reject(reason);
      };
      signal.addEventListener("abort", abort, { once: true });
      item.vector.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    });
  }

  async function embedAll(texts: readonly string[], onProgress?: (done: number) => void): Promise<Float32Array[]> {
    const vectors: Float32Array[] = new Array<Float32Array>(texts.length);
    // By length, so that a batch needs few calls of the model.
    const order = texts.map((_, i) => i).sort((a, b) => texts[b]!.length - texts[a]!.length);
    let next = 0;
    let done = 0;
    const lane = async (): Promise<void> => {
      for (let i = order[next++]; i !== undefined; i = order[next++]) {
        vectors[i] = await ask(texts[i]!, true);
        onProgress?.(++done);
      }
    };
    // A few batches in the queue at a time.
    await Promise.all(Array.from({ length: Math.min(texts.length, (1 + atOnce) * maxBatch) }, lane));
    return vectors;
  }

  return {
    model,
    dimension,
    embed: (text, signal) => ask(text, false, signal),
    embedAll,
    figures() {
      const { requests, background } = queue.waiting();
      return { ...counts, waiting: requests, background };
    },
    async close() {
      closed = true;
      const reason = new EmbedderError("embedder_unavailable", `${model} was closed`);
      for (const item of queue.clear()) item.reject(reason);
      await options.close();
    },
  };
}
