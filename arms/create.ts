// Makes the arm that a configuration describes: one line for every kind of arm.
import type { ArmConfig } from "../config/schema.ts";
import { answerInCode } from "./answer-in-code.ts";
import { anthropicProtocol, createAnthropicArm } from "./anthropic/anthropic.ts";
import type { BatchRecords } from "./anthropic/batches/match.ts";
import { createMessageBatches } from "./anthropic/batches/provider.ts";
import type { Arm } from "./arm.ts";
import { createLlamaArm, type LlamaArmDependencies } from "./llama/llama.ts";
import { createBatchArm, type BatchArmDependencies } from "./batches/arm.ts";
import { createOpenAiBatches } from "./openai/batches.ts";
import type { EndpointArmDependencies } from "./openai/endpoint-arm.ts";
import { createOpenAiArm } from "./openai/openai.ts";
import { openAiProtocol } from "./openai/protocol.ts";
import { createRecordedArm } from "./recorded/recorded.ts";
import { createReuseArm } from "./reuse/reuse.ts";

/** Dependencies of all kinds of arms; each arm takes those that it needs. */
type ArmDependencies = LlamaArmDependencies &
  Pick<EndpointArmDependencies, "headers" | "breaker" | "choose" | "fetch"> & {
    /** For arms of Anthropic's batches; absent: none can be submitted. */
    batchRecords?: BatchRecords | undefined;
    /** Age at which a provider's batch is cancelled, in milliseconds; for tests. */
    batchTimeoutMs?: BatchArmDependencies["timeoutMs"];
  };

/** Rejects when its log or model file is missing or wrong. No endpoint is called yet. */
export async function createArm(config: ArmConfig, dependencies: ArmDependencies): Promise<Arm> {
  const arm = await createAnyArm(config, dependencies);
  return config.answerAs === "code" ? answerInCode(arm) : arm;
}

function createAnyArm(config: ArmConfig, dependencies: ArmDependencies): Promise<Arm> | Arm {
  switch (config.type) {
    case "openai":
      if (config.batch === "off") return createOpenAiArm(config, dependencies);
      return createBatchArm(config, {
        provider: createOpenAiBatches(config, dependencies.fetch),
        protocol: openAiProtocol({ ...config, stream: false }),
        ...{ log: dependencies.log, timeoutMs: dependencies.batchTimeoutMs },
      });
    case "anthropic":
      if (config.batch === "off") return createAnthropicArm(config, dependencies);
      return createBatchArm(config, {
        provider: createMessageBatches(config, { records: dependencies.batchRecords ?? noRecords, ...dependencies }),
        protocol: anthropicProtocol({ ...config, stream: false }),
        ...{ log: dependencies.log, timeoutMs: dependencies.batchTimeoutMs },
      });
    case "llama":
      return createLlamaArm(config, dependencies);
    case "recorded":
      return createRecordedArm(config, dependencies);
    case "reuse":
      return createReuseArm(config);
  }
}

const unwritten = (): Promise<never> => Promise.reject(new Error("batches are submitted by the stage generate alone"));
const noRecords: BatchRecords = { read: unwritten, write: unwritten, remove: unwritten };
