// The embedding model of /v1/embeddings.
import type { Logger } from "pino";
import { embeddingModelFolder } from "../../config/assets.ts";
import type { Config } from "../../config/schema.ts";
import { createOnnxEmbedder } from "../../connections/embedder/onnx.ts";
import type { Embedder } from "../../connections/embedder/port.ts";

/** Opened when first asked for; a failure is tried again at the next request. */
export function openEmbedder(config: Config, log: Logger): { open(): Promise<Embedder>; close(): Promise<void> } {
  let opened: Promise<Embedder> | undefined;
  return {
    open() {
      const folder = config.embedder.model ?? embeddingModelFolder();
      return (opened ??= createOnnxEmbedder({ ...config.embedder, folder, log }).catch((error: unknown) => {
        opened = undefined;
        log.error({ err: error }, "the embedding model can't be opened");
        throw error;
      }));
    },
    async close() {
      const embedder = await opened?.catch(() => undefined);
      await embedder?.close();
    },
  };
}
