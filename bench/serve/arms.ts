// The arms of serve, as a deployment would configure them, and how its clients ask.
import { createHash } from "node:crypto";
import { armSchema, type LlamaArmConfig } from "../../config/schema.ts";
import { modelFile } from "../../config/models.ts";
import { type Domain, seed } from "./stream.ts";

const small = "Qwen2.5-Coder-0.5B-Instruct";
const large = "Qwen2.5-Coder-1.5B-Instruct";

export interface Arm {
  name: ArmName;
  model: string;
  /** Shown by the system. */
  examples: boolean;
  /** Caches of examples: cold: of earlier prompts alone; built: made before the request came. */
  caches: "cold" | "built";
  /** A pool of so many examples in place of all, drawn at random. */
  pool?: number;
  /** Their answers are the large model's own; an example is worth what its answer scores. */
  written?: boolean;
  /** Asked requests of this domain alone. */
  only?: Domain;
  /** Tokens that examples may add; absent: the default. */
  tokenBudget?: number;
  /** So many examples, drawn at random once, in the system prompt of every request. */
  fixed?: number;
}

const ofArm = <N extends string>(name: N, arm: Omit<Arm, "name">) => ({ name, ...arm });
export const arms = [
  ofArm("small-with", { model: small, examples: true, caches: "cold" }),
  ofArm("small-without", { model: small, examples: false, caches: "cold" }),
  ofArm("large-without", { model: large, examples: false, caches: "cold" }),
  // A problem's examples make this model worse, and their caches cost as much as 20 answers.
  ofArm("small-built", { model: small, examples: true, caches: "built", only: "nl2bash" }),
  ofArm("small-fixed", { model: small, examples: false, caches: "cold", fixed: 5 }),
  // One example or two.
  ofArm("small-budget-100", { model: small, examples: true, caches: "cold", tokenBudget: 100, only: "nl2bash" }),
  ofArm("small-pool-100", { model: small, examples: true, caches: "cold", pool: 100, only: "nl2bash" }),
  ofArm("small-written-100", {
    ...{ model: small, examples: true, caches: "cold", pool: 100, written: true, only: "nl2bash" },
  }),
  ofArm("small-pool-1000", { model: small, examples: true, caches: "cold", pool: 1_000, only: "nl2bash" }),
] as const;
export type ArmName = (typeof arms)[number]["name"];

/** What it differs in from those that are asked every request. */
const differences = ({ pool, fixed, tokenBudget, written }: Arm): (number | boolean)[] =>
  [pool, fixed, tokenBudget, written].filter((one) => one !== undefined);
const isAblation = (arm: Arm): boolean => differences(arm).length > 0;
/** Asked every request of a sitting; the others by sittings of their own (--only). */
export const cold: readonly Arm[] = arms.filter((arm) => arm.caches === "cold" && !isAblation(arm));
export const built: readonly Arm[] = arms.filter(({ caches }) => caches === "built");
export const ablations: readonly Arm[] = arms.filter(isAblation);

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
  // Caches of all examples; the default size holds those of some 350 requests.
  linked: { build: "off", diskBytes: 24 * 1_073_741_824 },
  // A niced process on a busy machine may have to wait for minutes.
  stallMs: 900_000,
  // The router is given what was measured.
  cost: 0,
};

/** Answers under other settings are other answers; an arm more or less leaves the others' alone. */
export const settingsOf = (arm: Arm): string =>
  createHash("sha256")
    .update(JSON.stringify([seed, arm.name, arm.model, arm.examples, asking, settings.linked, ...differences(arm)]))
    .digest("hex")
    .slice(0, 12);

/** As precedent.yaml has it. */
export function armConfig({ name, model, examples, tokenBudget }: Arm): LlamaArmConfig {
  const config = armSchema.parse({ ...settings, type: "llama", name, model, examples, tokenBudget });
  if (config.type !== "llama") throw new Error(`${name} is no llama arm`);
  return config;
}

export const modelFiles = (): string[] => [...new Set(arms.map(({ model }) => modelFile(model)))];
