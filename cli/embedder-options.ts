// The embedder of commands that embed much and do nothing beside.
import { availableParallelism } from "node:os";
import { embeddingModelFolder } from "../config/assets.ts";
import type { Config } from "../config/schema.ts";
import type { Io } from "./io.ts";

export const embedderOptions = (config: Config, io: Io) => ({
  folder: config.embedder.model ?? embeddingModelFolder(io.environment),
  threads: config.embedder.threads,
  // A worker a core.
  workers: Math.max(1, Math.floor(availableParallelism() / config.embedder.threads)),
  maxBatch: config.embedder.maxBatch,
  cacheEntries: config.embedder.cacheEntries,
});
