// Tiny models with random weights for tests, written by llama-check into a folder of their own.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { llamaAddonFile, llamaBackendsFolder, llamaCheckFile } from "./library.ts";
import { fingerprintOf, openLlamaModel, type OpenedModel } from "./model.ts";
import { calling, native } from "./native.ts";
import type { ChunkFacts, ContextInput, Device, LlamaContext } from "./port.ts";

export type TinyShape =
  | "tiny"
  | "tiny-neox"
  | "tiny-yarn"
  | "tiny-factors"
  | "tiny-narrow"
  | "tiny-mrope"
  | "tiny-window"
  | "tiny-positions"
  | "tiny-recurrent";

/** Whether the addon is built; tests that need it are skipped where it is not. */
export const llamaIsBuilt = existsSync(llamaAddonFile) && existsSync(llamaCheckFile);

/** What llama.cpp found on this machine. Throws LlamaError. */
export const llamaDevices = (): Device[] => calling(() => native().devices(llamaBackendsFolder(), []));

/** The header of a blob. Throws LlamaError blob_corrupt. */
export const describeChunk = (blob: Uint8Array): ChunkFacts => calling(() => native().describeBlob(blob));

export interface TinyModels {
  /** Path of the GGUF; written when first asked for. */
  file(shape: TinyShape): Promise<string>;
  open(shape: TinyShape): Promise<OpenedModel>;
  remove(): Promise<void>;
}

export async function createTinyModels(): Promise<TinyModels> {
  const folder = await mkdtemp(join(tmpdir(), "precedent-llama-"));
  const file = async (shape: TinyShape): Promise<string> => {
    const path = join(folder, `${shape}.gguf`);
    if (!existsSync(path)) await promisify(execFile)(llamaCheckFile, ["generate", shape, path]);
    return path;
  };
  return {
    file,
    open: async (shape) => {
      const path = await file(shape);
      return openLlamaModel({ path, fingerprint: await fingerprintOf(path) });
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

export interface Opened {
  models: TinyModels;
  model: OpenedModel;
  context: LlamaContext;
  close(): Promise<void>;
}

/** The model "tiny" with a context. */
export async function openTiny(forContext: ContextInput): Promise<Opened> {
  const models = await createTinyModels();
  const model = await models.open("tiny");
  const context = await model.openContext(forContext);
  return {
    ...{ models, model, context },
    async close() {
      await context.close();
      model.close();
      await models.remove();
    },
  };
}
