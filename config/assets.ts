// Where set-up (tools/setup/setup.ts) puts what it fetches and builds; models: models.ts.
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

type Environment = Readonly<Record<string, string | undefined>>;

/** PRECEDENT_CACHE, else precedent/ under XDG_CACHE_HOME or ~/.cache. */
export function cacheFolder(environment: Environment = process.env): string {
  const own = environment["PRECEDENT_CACHE"];
  if (own !== undefined && own !== "") return own;
  const caches = environment["XDG_CACHE_HOME"];
  return join(caches === undefined || caches === "" ? join(homedir(), ".cache") : caches, "precedent");
}

/** Name of the embedding model that set-up makes; also recorded with every example. */
export const embeddingModelName = "all-MiniLM-L6-v2";

export function embeddingModelFolder(environment: Environment = process.env): string {
  return join(cacheFolder(environment), "models", embeddingModelName);
}

/** What the folder of an embedding model has. */
export const embeddingModelParts = ["model.onnx", "tokenizer.json"];

/** Folder of helm and kubernetes_validate, which `npm run check:deploy` fetches. */
export const deployTools = (environment: Environment = process.env): string =>
  join(cacheFolder(environment), "deploy-tools");

export const pageFolder = (): string => fileURLToPath(new URL("../build/page", import.meta.url));
