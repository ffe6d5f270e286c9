// Embedder options of commands that only embed.
import { availableParallelism } from "node:os";
import type { Config } from "../config/schema.ts";
import type { EmbedderOptions } from "../pipelines/embedder.ts";
import type { Io } from "./io.ts";

export const embedderOptions = (config: Config, io: Io): Omit<EmbedderOptions, "log"> => ({
  environment: io.environment,
  // A worker a core.
  workers: Math.max(1, Math.floor(availableParallelism() / config.embedder.threads)),
});
