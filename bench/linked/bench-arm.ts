// A llama arm's inside, in this process, for what is measured of its caches: the model, the store
// and the prefetcher as arms/llama/load.ts puts them together, for one request at a time on one
// thread.
import { loadLlama, type LoadedLlama } from "../../arms/llama/load.ts";
import type { ConversationPrompt } from "../../arms/linked/beginning.ts";
import { type LinkPolicy, parsePolicy } from "../../algorithms/linked-prefill/link-policy.ts";

const mebibyte = 1_048_576;
/** loadLlama gives the rest to the beginnings of conversations. */
const chunkShare = 0.75;

export interface BenchArm {
  /** Path of the GGUF file. */
  path: string;
  fingerprint: string;
  contextTokens: number;
  /** For chunk caches. */
  memoryMib: number;
  /** Folder of the slow tier; null: memory only. */
  folder: string | null;
}

export const openArm = ({ path, fingerprint, contextTokens, memoryMib, folder }: BenchArm): Promise<LoadedLlama> =>
  loadLlama({
    ...{ model: path, chatTemplate: null, system: null, contextTokens, threads: 1, sequences: 1 },
    ...{ kvType: "f16", device: "cpu", gpuLayers: null, flashAttention: "auto" },
    linked: {
      ...{ convention: "context", folder, fingerprint, keepInFull: true },
      ...{ memoryBytes: Math.ceil((memoryMib * mebibyte) / chunkShare), diskBytes: Number.MAX_SAFE_INTEGER },
    },
  });

export interface Answered {
  /**
   * Milliseconds from the call to the first token: on the clock, and of CPU in all threads of this
   * process.
   */
  ttftMs: number;
  ttftCpuMs: number;
  /** Part of ttftMs until the caches were loaded and the model began. */
  loadingMs: number;
  linked: number;
  recomputed: number;
  prefilled: number;
}

/** Greedy, one line. */
export async function answer(
  { model }: Pick<LoadedLlama, "model">,
  prompt: ConversationPrompt,
  policy: LinkPolicy,
  maxTokens: number,
  signal: AbortSignal,
): Promise<Answered> {
  const before = process.cpuUsage();
  let cpu: NodeJS.CpuUsage | undefined;
  const onText = (): void => void (cpu ??= process.cpuUsage(before));
  const asked = { maxTokens, temperature: 0, topP: 1, seed: 0, stop: ["\n"] };
  const { result, firstTokenMs, linked, recomputed, prefilled } = await model.answer(prompt, policy, asked, {
    ...{ signal, onText, onProgress: () => undefined, keep: true },
  });
  // No text at all: the first token ended the answer.
  const { user, system } = cpu ?? process.cpuUsage(before);
  const { firstMs, queuedMs } = result.timings;
  const ttftMs = firstTokenMs ?? firstMs;
  return {
    ...{ ttftMs, ttftCpuMs: (user + system) / 1000, loadingMs: ttftMs - firstMs - queuedMs },
    ...{ linked, recomputed, prefilled },
  };
}

export function policyNamed(name: string): LinkPolicy {
  const parsed = parsePolicy(name);
  if ("problem" in parsed) throw new Error(parsed.problem);
  return parsed;
}
