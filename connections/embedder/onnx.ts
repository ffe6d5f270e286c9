// The real embedder: a sentence encoder in an ONNX file, run by onnxruntime in a worker thread that
// is started again when it crashes.
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { Logger } from "pino";
import { messageOf } from "../../algorithms/errors.ts";
import type { Waits } from "../../algorithms/backoff.ts";
import { keepWorker } from "../worker/kept.ts";
import { createBatchingEmbedder } from "./batching.ts";
import type { EmbedMethods, EmbedWorkerInput } from "./methods.ts";
import { EmbedderError, type Embedder } from "./port.ts";

export interface OnnxEmbedderOptions {
  /** Has model.onnx and tokenizer.json; its name becomes the model's name. */
  folder: string;
  /** Intra-op threads of ONNX Runtime, one worker thread beside them. */
  threads: number;
  maxBatch: number;
  cacheEntries: number;
  maxWaiting?: number;
  /** Refuse the model unless it has this dimension; absent: take it as it is. */
  dimension?: number;
  log: Logger;
  /** Another worker module, for tests. */
  worker?: URL;
  /** Pause before a crashed worker is started again; see keepWorker. */
  pause?: Waits;
}

/**
 * Rejects with EmbedderError embedder_unavailable when the folder, the model or its vectors are not
 * what they must be.
 */
export async function createOnnxEmbedder(options: OnnxEmbedderOptions): Promise<Embedder> {
  const { folder, threads, log } = options;
  const model = basename(resolve(folder));
  for (const file of ["model.onnx", "tokenizer.json"])
    if (!existsSync(join(folder, file)))
      throw new EmbedderError(
        "embedder_unavailable",
        `${join(folder, file)} is not there: run "npm run setup", or name a folder that has it in embedder.model`,
      );

  let dimension = options.dimension;
  const input: EmbedWorkerInput = { folder, threads };
  const worker = await keepWorker<EmbedMethods>({
    name: `embedder ${model}`,
    entry: options.worker ?? new URL("./worker.ts", import.meta.url),
    data: input,
    log,
    ...(options.pause === undefined ? {} : { pause: options.pause }),
    async prepare(client) {
      const vector = await client.call("embed", ["A sentence to see what the model gives."]);
      if (dimension !== undefined && vector.length !== dimension)
        throw new Error(`its vectors have ${vector.length} numbers, expected ${dimension}`);
      if (!vector.every(Number.isFinite)) throw new Error("its vectors have NaN or infinite numbers");
      dimension = vector.length;
    },
  }).catch((error: unknown) => {
    throw unavailable(model, error);
  });

  return createBatchingEmbedder({
    ...options,
    model,
    dimension: dimension ?? 0,
    run: (texts) =>
      worker.call("embed", texts).catch((error: unknown) => {
        throw unavailable(model, error);
      }),
    close: () => worker.close(),
  });
}

const unavailable = (model: string, error: unknown): EmbedderError =>
  new EmbedderError("embedder_unavailable", `the embedding model ${model}: ${messageOf(error)}`);
