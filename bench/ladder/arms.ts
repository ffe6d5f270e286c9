// The arms of the ladder, as a deployment would configure them.
import { createHash } from "node:crypto";
import { modelFile } from "../../config/models.ts";
import type { ArmName } from "./log.ts";

interface Rung {
  name: ArmName;
  /** By the registry of models. */
  model: string;
  examples: boolean;
}

export const rungs: readonly Rung[] = [
  { name: "smol-5", model: "SmolLM2-135M-Instruct", examples: true },
  { name: "half-5", model: "Qwen2.5-Coder-0.5B-Instruct", examples: true },
  { name: "large-0", model: "Qwen2.5-Coder-1.5B-Instruct", examples: false },
  { name: "large-5", model: "Qwen2.5-Coder-1.5B-Instruct", examples: true },
];

/** The same for all of them. */
const settings = {
  system: "Translate the request into one shell command. Answer with the command alone, without backticks.",
  maxTokens: 64,
  // The end of a code block, and what is said behind a command.
  stop: ["\n```", "\n\n"],
  contextTokens: 2_048,
  threads: 1,
  concurrency: 1,
  // Caches are taken from the prefills that come: nothing is computed while the arm is idle.
  linked: { policy: "last-2", convention: "seen", sampleShare: 0 },
};

/** A log of other settings is another log. */
export const settingsHash = createHash("sha256")
  .update(JSON.stringify([rungs, settings]))
  .digest("hex")
  .slice(0, 12);

/** As precedent.yaml has them; their `cost` is replaced by what was measured. */
export const armsConfig = () =>
  rungs.map(({ name, model, examples }) => ({
    ...settings,
    ...{ name, type: "llama" as const, model, examples },
    // A niced process on a busy machine may have to wait for minutes.
    stallMs: 900_000,
    cost: 0,
  }));

/** Files of models that are not there. */
export const modelFiles = (): string[] => [...new Set(rungs.map(({ model }) => modelFile(model)))];
