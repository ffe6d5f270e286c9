// The arms of serve, as a deployment would configure them, and how its clients ask.
import { createHash } from "node:crypto";
import { armSchema, type LlamaArmConfig } from "../../config/schema.ts";
import { modelFile } from "../../config/models.ts";
import { type Domain, seed } from "./stream.ts";

const small = "Qwen2.5-Coder-0.5B-Instruct";
const large = "Qwen2.5-Coder-1.5B-Instruct";

/** Asked by the stream; `every`: only each so many requests, from the first. */
export const asked = [
  { name: "small-with", model: small, examples: true, every: 1 },
  { name: "small-without", model: small, examples: false, every: 1 },
  { name: "large-without", model: large, examples: false, every: 1 },
  // The same as small-with, without KV-cache reuse.
  { name: "small-full", model: small, examples: true, every: 4 },
] as const;
export type ArmName = (typeof asked)[number]["name"];

/** What clients of each domain send with a request. */
export const asking: Readonly<Record<Domain, { system: string; maxTokens: number; stop: readonly string[] }>> = {
  nl2bash: {
    system: "Translate the request into one shell command. Answer with the command alone, without backticks.",
    maxTokens: 64,
    // The end of a code block, and explanations behind a command.
    stop: ["\n```", "\n\n"],
  },
  gsm8k: {
    system:
      "Solve the problem step by step, briefly and without code. End with a last line: #### and the number alone.",
    // The large model writes some 200, and would be cut off unfairly by fewer.
    maxTokens: 384,
    stop: [],
  },
};

const settings = {
  // Of all examples; the default holds those of some 350 requests.
  linked: { build: "off", diskBytes: 24 * 1_073_741_824 },
  // A niced process on a busy machine may have to wait for minutes.
  stallMs: 900_000,
  // The router is given what was measured.
  cost: 0,
};

/** Answers under other settings are other answers; an arm more or less leaves the others' alone. */
export const settingsOf = ({ name, model, examples }: (typeof asked)[number]): string =>
  createHash("sha256")
    .update(JSON.stringify([seed, name, model, examples, asking, settings.linked]))
    .digest("hex")
    .slice(0, 12);

/** As precedent.yaml has it. */
export function armConfig({ name, model, examples }: (typeof asked)[number]): LlamaArmConfig {
  const linked = name === "small-full" ? { ...settings.linked, policy: "full" } : settings.linked;
  const config = armSchema.parse({ ...settings, linked, type: "llama", name, model, examples });
  if (config.type !== "llama") throw new Error(`${name} is no llama arm`);
  return config;
}

export const modelFiles = (): string[] => [...new Set(asked.map(({ model }) => modelFile(model)))];
