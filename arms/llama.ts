// A model on this machine: a GGUF file through llama.cpp on the CPU, in a process of its own. Greedy unless asked otherwise.
// When its worker dies, what was under way fails with model_failed and another worker is started, after a pause that grows.
import { createHash } from "node:crypto";
import { access } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { llamaModelFile } from "../config/assets.ts";
import type { LlamaArmConfig } from "../config/schema.ts";
import { keepWorker } from "../connections/worker/kept.ts";
import type { Arm, ArmFailure, ArmRequest, ArmResult } from "./arm.ts";
import { createCalls, endedFailure } from "./calls.ts";
import { answerCost } from "./cost.ts";
import type { Generate, Generated, LlamaFacts, LlamaInput, LlamaMethods } from "./llama-methods.ts";
import { chatMessages } from "./messages.ts";

export interface LlamaArm extends Arm {
  /** Kills the worker as a crash would; for tests. */
  crash(): Promise<void>;
}

// A worker is back in two or three seconds; a request waits for that rather than fail.
const longestRestartMs = 15_000;

/** Rejects when there is no such file, or when it is no model that llama.cpp can load. */
export async function createLlamaArm(config: LlamaArmConfig, { log }: { log: Logger }): Promise<LlamaArm> {
  const model = config.model ?? llamaModelFile();
  await access(model).catch((error: unknown) => {
    const hint = config.model === undefined ? 'Run "npm run setup", or set "model".' : 'Check its "model".';
    throw new Error(`Arm "${config.name}": there is no model at ${model}. ${hint}`, { cause: error });
  });
  const input: LlamaInput = {
    model,
    contextTokens: config.contextTokens,
    threads: config.threads,
    sequences: config.concurrency,
  };
  let facts: LlamaFacts = { name: "", loadMs: 0 };
  const worker = await keepWorker<LlamaMethods>({
    name: `llama ${config.name}`,
    entry: new URL("./llama-worker.ts", import.meta.url),
    data: input,
    // A crash of llama.cpp must not take the stage along.
    isolation: "process",
    log,
    prepare: async (client) => {
      facts = await client.call("load", null);
      log.info({ arm: config.name, model: facts.name, loadMs: Math.round(facts.loadMs) }, "model loaded");
    },
  });
  const calls = createCalls(config.concurrency);

  function answer(
    request: ArmRequest,
    signal: AbortSignal,
    onText?: (text: string, attempt: number) => void,
  ): Promise<ArmResult> {
    const called = performance.now();
    return calls.run(request, signal, async (ending) => {
      const restartBy = performance.now() + longestRestartMs;
      while (!worker.ready && !ending.aborted && performance.now() < restartBy)
        await sleep(50, undefined, { signal: ending }).catch(() => undefined);
      if (ending.aborted) return endedFailure(ending, 0);
      const queueMs = performance.now() - called;
      const options = {
        signal: ending,
        onEvent: (text: unknown) => typeof text === "string" && onText?.(text, 1),
      };
      try {
        const result = await worker.call("generate", wanted(config, request, onText !== undefined), options);
        return resultOf(config, facts.name, queueMs, result) ?? endedFailure(ending, 1);
      } catch (error) {
        if (ending.aborted) return endedFailure(ending, 1);
        log.error({ arm: config.name, requestId: request.requestId, err: error }, "the model failed");
        return failure("model_failed", `The model of arm "${config.name}" failed; its worker is restarted.`, true);
      }
    });
  }

  async function close(): Promise<void> {
    calls.close();
    await worker.close();
  }

  return {
    name: config.name,
    model: facts.name,
    concurrency: config.concurrency,
    answer,
    close,
    crash: () => worker.call("crash", null),
  };
}

function wanted(config: LlamaArmConfig, { requestId, pieces, params }: ArmRequest, stream: boolean): Generate {
  return {
    messages: chatMessages(pieces),
    maxTokens: Math.max(1, params.maxTokens ?? config.maxTokens),
    temperature: params.temperature ?? 0,
    topP: params.topP ?? 1,
    // Fixed by the request, so that a repeated call gives the same answer.
    seed: params.seed === null ? createHash("sha1").update(requestId).digest().readUInt32BE(0) : params.seed >>> 0,
    stop: params.stop.length > 0 ? params.stop : config.stop,
    stream,
  };
}

/** null: it was cancelled. */
function resultOf(config: LlamaArmConfig, model: string, queueMs: number, result: Generated): ArmResult | null {
  if (result.kind === "cancelled") return null;
  if (result.kind === "tooLarge") {
    const message = `The prompt has ${String(result.prompt)} tokens; arm "${config.name}" takes fewer than ${String(result.limit)} (contextTokens).`;
    return failure("prompt_too_large", message, false);
  }
  const { text, finishReason, prompt, prefilled, completion, firstTokenMs } = result;
  const usage = { prompt, linked: 0, recomputed: 0, prefilled, completion };
  return {
    kind: "answer",
    text,
    finishReason,
    model,
    usage,
    cost: answerCost(usage, config.prices),
    attempts: 1,
    queueMs,
    firstTokenMs: firstTokenMs === null ? null : queueMs + firstTokenMs,
  };
}

function failure(code: string, message: string, retriable: boolean): ArmFailure {
  return { kind: "failure", code, message, attempts: 1, retriable };
}
