// What a llama arm asks of its worker for a request, and what its results come to.
import { createHash } from "node:crypto";
import type { LlamaArmConfig } from "../../config/schema.ts";
import { priceList } from "../../config/prices.ts";
import { everybody } from "../../connections/kv/keys.ts";
import type { ArmFailure, ArmRequest, ArmResult, Caching } from "../arm.ts";
import { answerCost } from "../cost.ts";
import type { Generate, Generated } from "./methods.ts";

/** The deployment's own requests: judging, example replays. */
export const ownCalls: Caching = { domain: everybody, mayStore: true };

export function wanted(
  config: LlamaArmConfig,
  { requestId, pieces, params, caching = ownCalls }: ArmRequest,
): Omit<Generate, "stream" | "policy" | "compare"> {
  return {
    ...{ pieces, caching },
    maxTokens: Math.max(1, params.maxTokens ?? config.maxTokens ?? config.contextTokens),
    temperature: params.temperature ?? 0,
    topP: params.topP ?? 1,
    // Fixed by the request, so that a repeated call gives the same answer.
    seed: params.seed === null ? createHash("sha1").update(requestId).digest().readUInt32BE(0) : params.seed >>> 0,
    stop: params.stop.length > 0 ? params.stop : config.stop,
  };
}

/** null: it was cancelled. `before`: milliseconds from answer() until this attempt. */
export function resultOf(
  config: LlamaArmConfig,
  model: string,
  { queueMs, before, attempt }: { queueMs: number; before: number; attempt: number },
  { pieces, params }: Pick<ArmRequest, "pieces" | "params">,
  result: Generated,
): ArmResult | null {
  if (result.kind === "cancelled") return null;
  if (result.kind === "tooLarge") {
    const message = `The prompt is too long: it has ${String(result.prompt)} tokens; arm "${config.name}" takes fewer than ${String(result.limit)} (contextTokens).`;
    return { ...failure("prompt_too_large", message, false, attempt), param: "messages" };
  }
  if (result.kind === "refused") return refused(config, pieces, result.message, attempt);
  const { text, finishReason, stop, linkPolicy, firstTokenMs, prompt, linked, recomputed, prefilled, completion } =
    result;
  const cached = Math.max(0, prompt - prefilled - recomputed);
  const usage = {
    ...{ prompt, linked, recomputed, prefilled, cached, cacheWrite: 0 },
    ...{ completion, reasoning: 0, estimated: false },
  };
  return {
    kind: "answer",
    text,
    finishReason,
    // Not one of the arm's own.
    stopSequence: params.stop.find((one) => one === stop),
    model,
    linkPolicy,
    usage,
    cost: answerCost(usage, priceList(config)),
    attempts: attempt,
    queueMs,
    firstTokenMs: firstTokenMs === null ? null : before + firstTokenMs,
  };
}

/** It is the arm's fault where its own system prompt is all that a template could refuse. */
function refused(config: LlamaArmConfig, pieces: ArmRequest["pieces"], why: string, attempts: number): ArmFailure {
  const others = pieces.filter(({ kind }) => kind !== "turn" && kind !== "example");
  const turns = pieces.filter(({ kind }) => kind === "turn");
  const alternate = turns.every(({ role }, at) => role === (at % 2 === 0 ? "user" : "assistant"));
  const isArms = alternate && (others.length === 0 || (others.length === 1 && others[0]?.text === config.system));
  const remedy = isArms
    ? `leave out the system of arm "${config.name}", or set another chatTemplate`
    : "let user and assistant take turns, and leave out system messages and documents";
  const message = `Arm "${config.name}" refuses the conversation: ${why}; ${remedy}.`;
  return {
    ...failure(isArms ? "endpoint_rejected" : "request_rejected", message, false, attempts),
    ...(isArms ? { unhealthy: true } : { param: "messages" }),
  };
}

export function failure(code: string, message: string, retriable: boolean, attempts: number): ArmFailure {
  return { kind: "failure", code, message, attempts, retriable };
}
