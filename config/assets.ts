// Where set-up (scripts/setup.ts) puts what it fetches and builds. Paths only; whether a file is
// there is looked up for none but the model that has two forms.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * PRECEDENT_CACHE, else precedent/ under XDG_CACHE_HOME, else under ~/.cache. Shared by every
 * checkout of this user.
 */
export function cacheFolder(environment: Environment = process.env): string {
  const own = environment["PRECEDENT_CACHE"];
  if (own !== undefined && own !== "") return own;
  const caches = environment["XDG_CACHE_HOME"];
  return join(caches === undefined || caches === "" ? join(homedir(), ".cache") : caches, "precedent");
}

/** Name of the embedding model that set-up makes; also recorded with every example. */
export const embeddingModelName = "all-MiniLM-L6-v2";

/** Folder with model.onnx and tokenizer.json. */
export function embeddingModelFolder(environment: Environment = process.env): string {
  return join(cacheFolder(environment), "models", embeddingModelName);
}

/**
 * The GGUF of the small arm: the requantised one where set-up could make it, else the one it
 * fetched, there or not.
 */
export function llamaModelFile(environment: Environment = process.env): string {
  const requantised = requantisedLlamaModelFile(environment);
  return existsSync(requantised) ? requantised : fetchedLlamaModelFile(environment);
}

/** As its package carries it. */
export function fetchedLlamaModelFile(environment: Environment = process.env): string {
  return join(cacheFolder(environment), "models", "SmolLM2-135M-Instruct", "SmolLM2-135M-Instruct.Q4_1.gguf");
}

/** Made of the fetched one: larger, and twice as fast on a CPU. */
export function requantisedLlamaModelFile(environment: Environment = process.env): string {
  return join(cacheFolder(environment), "models", "SmolLM2-135M-Instruct", "SmolLM2-135M-Instruct.Q8_0.gguf");
}
