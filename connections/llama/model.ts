// Opens a GGUF model through our addon.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { createLlamaContext } from "./context.ts";
import { gpuLibraries, gpuRemedy, llamaBackendsFolder } from "./library.ts";
import { calling, llamaError, native, type NativeModel } from "./native.ts";
import { LlamaError, type LlamaModel, type ModelInput } from "./port.ts";

export interface OpenedModel extends LlamaModel {
  readonly native: NativeModel;
}

/** The model and its contexts stay in memory until closed. Rejects with LlamaError. */
export async function openLlamaModel(input: ModelInput): Promise<OpenedModel> {
  const { path, fingerprint, device = "cpu", gpuLayers = -1 } = input;
  if (!/^[0-9a-f]{64}$/.test(fingerprint))
    throw new LlamaError("invalid_argument", `"${fingerprint}" is no SHA-256 in hexadecimal digits`);
  const addon = native();
  const model: NativeModel = await addon
    .loadModel({
      path,
      fingerprint: Buffer.from(fingerprint, "hex"),
      device,
      gpuLayers,
      backends: llamaBackendsFolder(),
      // The CPU's arms never load a driver.
      libraries: device === "cpu" ? [] : gpuLibraries(),
    })
    .catch((error: unknown) => {
      const failure = llamaError(error);
      if (!(failure instanceof LlamaError) || failure.code !== "device_missing" || gpuLibraries().length > 0)
        throw failure;
      const remedy = `no backend of GPUs was fetched: ${gpuRemedy()}`;
      throw new LlamaError("device_missing", `${failure.message}; ${remedy}`, { cause: error });
    });
  const facts = model.facts();
  return {
    facts: { ...facts, fingerprint, rope: facts.linkable ? model.rope(facts.trainContext) : null },
    tokenize: (text, { control = false } = {}) => calling(() => model.tokenize(text, control)),
    detokenize: (tokens, { control = false } = {}) => calling(() => model.detokenize(tokens, control)).toString("utf8"),
    isEnd: (token) => calling(() => model.isEnd(token)),
    openContext: async ({
      contextTokens,
      sequences = 4,
      threads = 1,
      flashAttention = "auto",
      kvType = "f16",
      batchTokens = 512,
      partTokens = Math.min(128, batchTokens),
      mostWaiting = 256,
      pieceBytes = 4 * 1_048_576,
      contexts = 1,
    }) => {
      const options = {
        contextTokens,
        sequences,
        threads,
        flashAttention:
          flashAttention === "auto" ? calling(() => model.flashAttention(kvType)) : flashAttention === "on",
        kvType,
        batchTokens,
        partTokens,
        mostWaiting,
        pieceBytes,
        contexts,
      };
      const context = await calling(() => addon.createContext(model, options)).catch((error: unknown) => {
        throw llamaError(error);
      });
      return createLlamaContext(context);
    },
    native: model,
    close: () => model.close(),
  };
}

/** SHA-256 in hexadecimal digits; of a split model, of all its files in order. */
export async function fingerprintOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for (const file of filesOf(path)) {
    try {
      for await (const part of createReadStream(file, { highWaterMark: 1_048_576 })) hash.update(part as Buffer);
    } catch (error) {
      throw new LlamaError("model_missing", `${file} can't be read`, { cause: error });
    }
  }
  return hash.digest("hex");
}

/** llama.cpp is given the first of NAME-00001-of-00003.gguf, and reads the others itself. */
function filesOf(path: string): string[] {
  const [ending, , count] = /-(\d{5})-of-(\d{5})\.gguf$/.exec(path) ?? [];
  if (ending === undefined) return [path];
  const start = path.slice(0, -ending.length);
  return Array.from({ length: Number(count) }, (_, index) => {
    const number = String(index + 1).padStart(5, "0");
    return `${start}-${number}-of-${count}.gguf`;
  });
}
