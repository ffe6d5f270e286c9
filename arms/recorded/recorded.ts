// Answers from a log, looked up by canonical last user turn: a large model without its price, and
// every benchmark's fixed point. The same request gets the same answer in every run and after every
// crash.
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { canonicalText } from "../../algorithms/canonical.ts";
import type { RecordedArmConfig } from "../../config/schema.ts";
import type { Arm, ArmFailure, ArmRequest, ArmResult } from "../arm.ts";
import { answerCost, estimatedTokens } from "../cost.ts";
import { lastUserTurn } from "../messages.ts";
import { readRecordedLog } from "./log.ts";

/** Rejects when the log can't be read or a line of it is wrong (file and line number are named). */
export async function createRecordedArm(config: RecordedArmConfig): Promise<Arm> {
  const answers = await readRecordedLog(config.file, config.name);

  async function answer(
    request: ArmRequest,
    signal: AbortSignal,
    onText?: (text: string, attempt: number) => void,
  ): Promise<ArmResult> {
    const started = performance.now();
    const latency = config.latencyMs + config.latencySpreadMs * share(request.requestId);
    if (latency > 0) await sleep(latency, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return failure("cancelled", "The call was cancelled before the recorded answer was due.", true);
    const question = lastUserTurn(request.pieces);
    const known = question === undefined ? undefined : answers.get(canonicalText(question));
    const found = known?.[pick(request, known.length)];
    if (found === undefined)
      return failure("not_recorded", `Arm "${config.name}" holds no answer to this request; add it to its log.`, false);
    onText?.(found.text, 1);
    const tokens = found.usage ?? {
      prompt: request.pieces.reduce((sum, piece) => sum + estimatedTokens(piece.text), 0),
      completion: estimatedTokens(found.text),
    };
    return {
      kind: "answer",
      text: found.text,
      finishReason: "stop",
      model: found.model ?? config.model,
      usage: { ...tokens, linked: 0, recomputed: 0, prefilled: tokens.prompt },
      cost: found.cost ?? answerCost(tokens, config.prices),
      attempts: 1,
      queueMs: 0,
      firstTokenMs: onText === undefined ? null : performance.now() - started,
    };
  }

  return {
    name: config.name,
    model: config.model,
    concurrency: config.concurrency,
    answer,
    close: () => Promise.resolve(),
  };
}

/**
 * Which of several answers: the seed-th, or one fixed by the request's id, so that a repeated call
 * gets the same.
 */
function pick(request: ArmRequest, count: number): number {
  const { seed } = request.params;
  const n = seed === null ? hash(request.requestId) : Math.abs(seed);
  return n % count;
}

const hash = (text: string): number => createHash("sha1").update(text).digest().readUInt32BE(0);
/** In [0, 1), fixed by the id. */
const share = (id: string): number => hash(`${id} latency`) / 2 ** 32;

function failure(code: string, message: string, retriable: boolean): ArmFailure {
  return { kind: "failure", code, message, attempts: code === "cancelled" ? 0 : 1, retriable };
}
