// Checks that texts can be embedded: by the model's files, or by a call of the endpoint.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { embeddingModelFolder, embeddingModelParts } from "../config/assets.ts";
import type { Config } from "../config/schema.ts";
import { precisionFor } from "../connections/embedder/precision.ts";
import { messageOf } from "../connections/errors.ts";
import { openEmbedder } from "../pipelines/embedder.ts";
import { createLog } from "../runtime/log.ts";
import type { Check } from "./doctor-check.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export async function embedderCheck(config: Config, environment: Environment): Promise<Check> {
  const { type, model, baseUrl, dimension } = config.embedder;
  if (type === "onnx") {
    const folder = model ?? embeddingModelFolder(environment);
    if (embeddingModelParts.every((file) => existsSync(join(folder, file))))
      return { name: "embedding model", state: "fine", detail: `${folder}, ${precisionFor(folder)}` };
    const detail = `${folder} has no model.onnx and tokenizer.json`;
    return { name: "embedding model", state: "missing", detail, remedy: "npm run setup" };
  }
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
