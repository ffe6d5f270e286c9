// Which models are refused and why, and what a model file takes: found by the addon in a process of
// its own, because llama.cpp aborts on some broken files.
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { llamaAddonFile, llamaBackendsFolder } from "./library.ts";
import type { ContextInput, ModelFacts } from "./port.ts";

export interface Refusal {
  why: string;
  /** By what: "architecture", or a key of the file or the arm. */
  decided: string;
  /** "the model", "links", "kvType q8_0". */
  refused: string;
  /** Architectures of this llama.cpp; empty: it depends on the file or the arm. */
  architectures: string[];
}

/** In the order in which a model is checked. Throws where the addon was not built. */
export const refusals = (): Refusal[] =>
  (createRequire(import.meta.url)(llamaAddonFile) as { refusals(): Refusal[] }).refusals();

export interface ServedModel {
  facts: Pick<ModelFacts, "architecture" | "description" | "trainContext" | "layers">;
  /** Why nothing is linked; null: it is. */
  unlinkable: string | null;
  flashAttention: boolean;
  /** Bytes of keys and values that each further token takes. */
  tokenBytes: number;
  modelBytes: number;
  /** Bytes of the context's keys, values and states. */
  contextBytes: number;
  computeBytes: number;
}

export type CheckedModel = ({ served: true } & ServedModel) | { served: false; why: string };

const program = `
  const [, file, given] = process.argv;
  const { load, options } = JSON.parse(given);
  const addon = require(file);
  const say = (value) => process.stdout.write(JSON.stringify(value));
  addon.loadModel({ ...load, fingerprint: new Uint8Array(32) }).then(async (model) => {
    const { architecture, description, trainContext, layers } = model.facts();
    const flashAttention = model.flashAttention(options.kvType);
    const weight = await addon.weigh(model, { ...options, flashAttention });
    say({ served: true, facts: { architecture, description, trainContext, layers }, flashAttention, ...weight });
  }).catch(({ message }) => say({ served: false, why: message }));`;

/** On the CPU. What is wrong with the file is a reason, not a rejection. */
export async function checkModel(
  path: string,
  { contextTokens, sequences = 1, kvType = "f16" }: ContextInput,
): Promise<CheckedModel> {
  const load = { path, device: "cpu", gpuLayers: -1, backends: llamaBackendsFolder(), libraries: [] };
  const options = { contextTokens: contextTokens * sequences, sequences, kvType, threads: 1, batchTokens: 512 };
  try {
    const given = ["-e", program, llamaAddonFile, JSON.stringify({ load, options })];
    const { stdout } = await promisify(execFile)(process.execPath, given, { timeout: 600_000 });
    return JSON.parse(stdout) as CheckedModel;
  } catch (error) {
    const { stderr = "", signal = null } = error as { stderr?: string; signal?: string | null };
    const last = stderr.trim().split("\n").at(-1) ?? "";
    return { served: false, why: `llama.cpp ends its process on it${signal === null ? "" : ` (${signal})`}: ${last}` };
  }
}
