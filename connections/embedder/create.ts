// The embedder that the configuration asks for.
import type { Logger } from "pino";
import { embeddingModelFolder } from "../../config/assets.ts";
import type { Config } from "../../config/schema.ts";
import { createOnnxEmbedder } from "./onnx.ts";
import type { Embedder } from "./port.ts";

/** The model of embedder.model, else all-MiniLM-L6-v2 as set-up makes it. Rejects with EmbedderError embedder_unavailable. */
export function createEmbedder(config: Config["embedder"], log: Logger): Promise<Embedder> {
  const { model: folder, ...rest } = config;
  return folder === undefined
    ? createOnnxEmbedder({ ...rest, folder: embeddingModelFolder(), dimension: 384, log })
    : createOnnxEmbedder({ ...rest, folder, log });
}
