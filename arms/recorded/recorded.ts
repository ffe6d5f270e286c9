// Answers from a log by the canonical last user turn, the same in every run and after every crash.
// Simulated durations occupy slots.
import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { estimateTokens } from "../../algorithms/text/tokens.ts";
import { canonicalText } from "../../algorithms/text/canonical.ts";
import { priceList } from "../../config/prices.ts";
import type { RecordedArmConfig } from "../../config/schema.ts";
import type { Arm, ArmFailure, ArmRequest, ArmResult } from "../arm.ts";
import { NO_USAGE } from "../../schemas/no-usage.ts";
import { createCalls, endedFailure } from "../calls.ts";
import { answerCost } from "../cost.ts";
import { lastUserTurn } from "../messages.ts";
import { readRecordedLog, type RecordedAnswer, type RecordedUsage } from "./log.ts";

type OnText = Parameters<Arm["answer"]>[2];

/** Rejects when the log can't be read or a line of it is wrong (file and line number are named). */
export async function createRecordedArm(
  config: RecordedArmConfig,
  { weightOf }: { weightOf?: (tenant: string) => number } = {},
): Promise<Arm> {
  const answers = await readRecordedLog(config.file, config.name);
  const prices = priceList(config);
  const calls = createCalls(config.concurrency, weightOf);

  async function answer(request: ArmRequest, signal: AbortSignal, onText?: OnText): Promise<ArmResult> {
    const started = performance.now();
    const question = lastUserTurn(request.pieces);
    const known = question === undefined ? undefined : answers.get(canonicalText(question));
    const found = known?.[pick(request, known.length)];
    const tookMs = found?.latencyMs ?? config.latencyMs + config.latencySpreadMs * share(request.requestId);
    // What takes no time holds no slot.
    if (tookMs === 0)
      return signal.aborted ? endedFailure(signal, 0) : resultOf(request, found, { started, queueMs: 0 }, onText);
    return calls.run(request, signal, async (ending) => {
      const queueMs = performance.now() - started;
      await sleep(tookMs, undefined, { signal: ending }).catch(() => undefined);
      return ending.aborted ? endedFailure(ending, 0) : resultOf(request, found, { started, queueMs }, onText);
    });
  }

  function resultOf(
    request: ArmRequest,
    found: RecordedAnswer | undefined,
    { started, queueMs }: { started: number; queueMs: number },
    onText?: OnText,
  ): ArmResult {
    if (found === undefined) return notRecorded(config.name);
    onText?.(found.text, 1);
    const tokens: RecordedUsage = found.usage ?? {
      prompt: request.pieces.reduce((sum, piece) => sum + estimateTokens(piece.text), 0),
      completion: estimateTokens(found.text),
      ...{ cached: 0, cacheWrite: 0, reasoning: 0 },
    };
    return {
      kind: "answer",
      text: found.text,
      finishReason: "stop",
      model: found.model ?? config.model,
      usage: {
        ...NO_USAGE,
        ...tokens,
        prefilled: tokens.prompt - tokens.cached,
        estimated: found.usage === undefined,
      },
      cost: found.cost ?? answerCost(tokens, prices),
      attempts: 1,
      queueMs,
      firstTokenMs: onText === undefined ? null : performance.now() - started,
    };
  }

  return {
    ...{ name: config.name, model: config.model, concurrency: config.concurrency, answer },
    close: () => Promise.resolve(calls.close()),
  };
}

/** The seed-th, or one fixed by the request's id: a repeated call gets the same. */
function pick(request: ArmRequest, count: number): number {
  const { seed } = request.params;
  const n = seed === null ? numberOf(request.requestId) : Math.abs(seed);
  return n % count;
}

/** The first four bytes of its digest. */
const numberOf = (text: string): number => parseInt(hash("sha1", text).slice(0, 8), 16);
/** In [0, 1), fixed by the id. */
const share = (id: string): number => numberOf(`${id} latency`) / 2 ** 32;

const notRecorded = (arm: string): ArmFailure => ({
  ...{ kind: "failure", code: "not_recorded", attempts: 1, retriable: false },
  message: `Arm "${arm}" holds no answer to this request; add it to its log.`,
});
