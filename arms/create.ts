// Makes the arm that a configuration describes: one line for every kind of arm.
import type { ArmConfig } from "../config/schema.ts";
import { answerInCode } from "./answer-in-code.ts";
import { createAnthropicArm } from "./anthropic/anthropic.ts";
import type { Arm } from "./arm.ts";
import { createLlamaArm, type LlamaArmDependencies } from "./llama/llama.ts";
import { createOpenAiArm, type OpenAiArmDependencies } from "./openai/openai.ts";
import { createBatchArm } from "./openai/batches/arm.ts";
import { createRecordedArm } from "./recorded/recorded.ts";
import { createReuseArm } from "./reuse/reuse.ts";

/** Dependencies of all kinds of arms; each arm takes those that it needs. */
type ArmDependencies = LlamaArmDependencies & Pick<OpenAiArmDependencies, "headers" | "breaker" | "choose">;

/** Rejects when its log or model file is missing or wrong. No endpoint is called yet. */
export async function createArm(config: ArmConfig, dependencies: ArmDependencies): Promise<Arm> {
  const arm = await createAnyArm(config, dependencies);
  return config.answerAs === "code" ? answerInCode(arm) : arm;
}

function createAnyArm(config: ArmConfig, dependencies: ArmDependencies): Promise<Arm> | Arm {
  switch (config.type) {
    case "openai":
      return config.batch === "provider" ? createBatchArm(config, dependencies) : createOpenAiArm(config, dependencies);
    case "anthropic":
      return createAnthropicArm(config, dependencies);
    case "llama":
      return createLlamaArm(config, dependencies);
    case "recorded":
      return createRecordedArm(config, dependencies);
    case "reuse":
      return createReuseArm(config);
  }
}
