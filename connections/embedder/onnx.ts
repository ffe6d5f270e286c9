// The real embedder: a sentence encoder in an ONNX file, run by onnxruntime in worker threads, each
// with the model to itself, that are started again when they crash.
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { Logger } from "pino";
import { embeddingModelParts } from "../../config/assets.ts";
import { messageOf } from "../errors.ts";
import type { Waits } from "../../algorithms/queueing/backoff.ts";
import { superviseWorker, type SupervisedWorker } from "../worker/supervised.ts";
import { createBatchingEmbedder } from "./batching.ts";
import type { EmbedMethods, EmbedWorkerInput } from "./methods.ts";
import { EmbedderError, type Embedder } from "./port.ts";
import { graphFiles, precisionFor, type Precision } from "./precision.ts";
import { disableTelemetry } from "./telemetry.ts";

export interface OnnxEmbedderOptions {
  /** Has model.onnx, tokenizer.json and perhaps model.int8.onnx; its name is the model's name. */
  folder: string;
  /** Absent: what is fastest here, and float32 where int8 can't be loaded. */
  precision?: Precision;
  /** Text of /proc/cpuinfo; absent: this machine's. */
  processor?: string;
  /** Intra-op threads of ONNX Runtime, beside the thread of each worker. */
  threads: number;
  /** Batches computed side by side, each by a worker that holds the model (90 MB). Default 1. */
  workers?: number;
  maxBatch: number;
  cacheEntries: number;
  /** Refuse the model unless it has this dimension; absent: any. */
  dimension?: number;
  log: Logger;
  worker?: URL;
  /** Pause before a crashed worker is started again; see keepWorker. */
  pause?: Waits;
}

/** EmbedderError embedder_unavailable when folder, model or vectors are not as they must be. */
export async function createOnnxEmbedder(options: OnnxEmbedderOptions): Promise<Embedder> {
  const { folder, threads, workers = 1, processor, log } = options;
  const precision = options.precision ?? precisionFor(folder, processor);
  const model = basename(resolve(folder));
  for (const file of embeddingModelParts)
    if (!existsSync(join(folder, file)))
      throw new EmbedderError(
        "embedder_unavailable",
        `${join(folder, file)} is not there: run "npm run setup", or name a folder that has it in embedder.model`,
      );

  disableTelemetry();
  let dimension = options.dimension;
  const start = (graph: string): Promise<SupervisedWorker<EmbedMethods>> =>
    superviseWorker<EmbedMethods>({
      name: `embedder ${model}`,
      entry: options.worker ?? new URL("./worker.ts", import.meta.url),
      data: { folder, graph, threads } satisfies EmbedWorkerInput,
      log,
      ...(options.pause === undefined ? {} : { pause: options.pause }),
      async prepare(client) {
        const vector = await client.call("embed", ["A sentence to see what the model gives."]);
        if (dimension !== undefined && vector.length !== dimension)
          throw new Error(`its vectors have ${vector.length} numbers, expected ${dimension}`);
        if (!vector.every(Number.isFinite)) throw new Error("its vectors have NaN or infinite numbers");
        dimension = vector.length;
      },
    });
  const startAll = async (used: Precision): Promise<SupervisedWorker<EmbedMethods>[]> => {
    const graph = join(folder, graphFiles[used]);
    const started = await Promise.allSettled(Array.from({ length: workers }, () => start(graph)));
    const failed = started.find((one) => one.status === "rejected");
    const all = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    if (failed === undefined) return all;
    await Promise.all(all.map((worker) => worker.close()));
    throw unavailable(model, failed.reason);
  };
  const running = await startAll(precision).catch((error: unknown) => {
    if (precision === "float32" || options.precision !== undefined) throw error;
    const graph = join(folder, graphFiles.int8);
    log.error({ err: error, graph }, "can't be used: float32 takes its place, for twice the CPU time");
    dimension = options.dimension;
    return startAll("float32");
  });
  const close = async (): Promise<void> => {
    await Promise.all(running.map((worker) => worker.close()));
  };

  /** A batch goes to one that has none; there are never more batches than workers. */
  const free = [...running];
  const run = async (texts: readonly string[]): Promise<Float32Array> => {
    const worker = free.pop();
    if (worker === undefined) throw new Error("more batches at a time than workers");
    try {
      return await worker.call("embed", texts);
    } catch (error) {
      throw unavailable(model, error);
    } finally {
      free.push(worker);
    }
  };
  return createBatchingEmbedder({
    ...options,
    model,
    dimension: dimension ?? 0,
    run,
    atOnce: workers,
    close,
  });
}

const unavailable = (model: string, error: unknown): EmbedderError =>
  new EmbedderError("embedder_unavailable", `the embedding model ${model}: ${messageOf(error)}`);
