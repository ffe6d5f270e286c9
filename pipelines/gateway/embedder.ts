// The embedding model of /v1/embeddings.
import type { Logger } from "pino";
import type { Config } from "../../config/schema.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import { openEmbedder } from "../embedder.ts";

/** Opened when first asked for; a failure is tried again at the next request. */
export function openWhenAsked(config: Config, log: Logger): { open(): Promise<Embedder>; close(): Promise<void> } {
  let opened: Promise<Embedder> | undefined;
  return {
    open() {
      return (opened ??= openEmbedder(config, { log }).catch((error: unknown) => {
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
