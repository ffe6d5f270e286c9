// The embedder that the configuration names.
import { embeddingModelFolder } from "../config/assets.ts";
import type { Config } from "../config/schema.ts";
import { createEndpointEmbedder } from "../connections/embedder/endpoint.ts";
import { createOnnxEmbedder, type OnnxEmbedderOptions } from "../connections/embedder/onnx.ts";
import type { Embedder } from "../connections/embedder/port.ts";

export interface EmbedderOptions extends Pick<OnnxEmbedderOptions, "log" | "workers"> {
  environment?: Readonly<Record<string, string | undefined>>;
}

/** EmbedderError embedder_unavailable where a model of this process can't be loaded. */
export async function openEmbedder(
  { embedder }: Pick<Config, "embedder">,
  { log, workers = 1, environment = process.env }: EmbedderOptions,
): Promise<Embedder> {
  const { type, model, baseUrl, apiKey, dimension, threads, maxBatch, cacheEntries } = embedder;
  if (type === "onnx") {
    const folder = model ?? embeddingModelFolder(environment);
    return createOnnxEmbedder({ folder, threads, workers, maxBatch, cacheEntries, log });
  }
  if (model === undefined || baseUrl === undefined || dimension === undefined)
    throw new Error("the configuration lets an endpoint without model, baseUrl or dimension pass");
  return createEndpointEmbedder({ baseUrl, apiKey, model, dimension, maxBatch, cacheEntries, log });
}
