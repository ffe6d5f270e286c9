// Checks that texts can be embedded: by the model's files, or by a call of the endpoint.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { embeddingModelFolder, embeddingModelParts } from "../config/assets.ts";
import type { Config } from "../config/schema.ts";
import { createOnnxEmbedder } from "../connections/embedder/onnx.ts";
import { precisionFor } from "../connections/embedder/precision.ts";
import { messageOf } from "../connections/errors.ts";
import { openEmbedder } from "../pipelines/embedder.ts";
import { createLog } from "../runtime/log.ts";
import type { Check } from "./doctor-check.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export async function embedderCheck(config: Config, environment: Environment): Promise<Check> {
  const { type, model, baseUrl, dimension } = config.embedder;
  if (type === "onnx") return modelCheck(model ?? embeddingModelFolder(environment));
  const embedder = await openEmbedder(config, { log: createLog({ level: "silent" }), environment });
  const began = performance.now();
  try {
    await embedder.embed("A sentence to see what the model gives.");
    const detail = `${model} at ${baseUrl}: ${dimension} numbers, ${Math.round(performance.now() - began)} ms`;
    return { name: "embedding endpoint", state: "fine", detail };
  } catch (error) {
    const remedy = "check embedder.baseUrl, model, apiKey and dimension; until then requests get no examples";
    return { name: "embedding endpoint", state: "missing", detail: messageOf(error), remedy };
  } finally {
    await embedder.close();
  }
}

/** Loads the model: a file that was copied in part is there, too. */
async function modelCheck(folder: string): Promise<Check> {
  const name = "embedding model";
  if (!embeddingModelParts.every((file) => existsSync(join(folder, file)))) {
    const detail = `${folder} has no model.onnx and tokenizer.json`;
    return { name, state: "missing", detail, remedy: "npm run setup" };
  }
  const precision = precisionFor(folder);
  const log = createLog({ level: "silent" });
  try {
    const embedder = await createOnnxEmbedder({ folder, precision, threads: 1, maxBatch: 1, cacheEntries: 0, log });
    await embedder.close();
    return { name, state: "fine", detail: `${folder}, ${precision}` };
  } catch (error) {
    // float32 takes the place of int8.
    const state = precision === "int8" ? "lacking" : "missing";
    return { name, state, detail: messageOf(error), remedy: `delete ${folder}; npm run setup makes the default model` };
  }
}
