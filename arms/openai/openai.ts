// Any OpenAI-compatible endpoint: slots, rate limit, retries, deadline. A call may be made and
// charged more than once; its answer is returned once and whole.
import { setTimeout as sleepFor } from "node:timers/promises";
import OpenAI from "openai";
import type { Logger } from "pino";
import { rawMembers } from "../../algorithms/text/exact-json.ts";
import { estimateTokens } from "../../algorithms/text/tokens.ts";
import type { OpenAiArmConfig } from "../../config/schema.ts";
import type { Arm, ArmAnswer, ArmFailure, ArmRequest, ArmResult, OnText } from "../arm.ts";
import { backoffMs } from "./backoff.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { createCalls, endedFailure } from "../calls.ts";
import { answerCost } from "../cost.ts";
import { completionBody } from "./body.ts";
import type { Completion } from "./answer.ts";
import { callOnce } from "./call.ts";
import { type Problem, problemOf } from "./errors.ts";
import { createRateLimit } from "./rate.ts";

export interface OpenAiArmDependencies {
  log: Logger;
  /** Milliseconds before attempt `next`, where the endpoint asks for nothing else. */
  backoff?: (next: number) => number;
  clock?: ArmClock;
  headers?: (() => Record<string, string>) | undefined;
  /** A tenant's share of the turns of calls that wait; all are equal by default. */
  weightOf?: (tenant: string) => number;
}

export interface ArmClock {
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

const systemClock: ArmClock = {
  now: Date.now,
  sleep: (ms, signal) => sleepFor(ms, undefined, { signal }).catch(() => undefined),
};

// Jitter on Retry-After, so that throttled callers do not return at the same time.
const retryAfterJitterMs = 250;
// Length of an endpoint's name for its model, which stands in every record.
const longestName = 200;

export function createOpenAiArm(config: OpenAiArmConfig, dependencies: OpenAiArmDependencies): Arm {
  const {
    log,
    headers,
    clock = systemClock,
    backoff = (next: number) => backoffMs(next, Math.random()),
  } = dependencies;
  const client = new OpenAI({
    baseURL: config.baseUrl,
    // The client requires a key; local endpoints ignore it.
    apiKey: config.apiKey === "" ? "none" : config.apiKey,
    organization: null,
    project: null,
    // Azure: a bearer token would be one of its directory, not a key.
    ...(new URL(config.baseUrl).searchParams.has("api-version") && {
      defaultHeaders: { authorization: null, "api-key": config.apiKey },
    }),
    maxRetries: 0,
    fetch: boundedFetch,
    // At any other level it logs prompts.
    logLevel: "off",
  });
  const calls = createCalls(config.concurrency, dependencies.weightOf);
  const perMinute = config.requestsPerMinute;
  const rate =
    perMinute === undefined
      ? null
      : createRateLimit(perMinute, Math.max(1, Math.min(config.concurrency, Math.floor(perMinute / 10))));

  function answer(request: ArmRequest, signal: AbortSignal, onText?: OnText): Promise<ArmResult> {
    const started = performance.now();
    return calls.run(request, signal, (ending) => attempts(request, ending, started, onText));
  }

  async function attempts(
    request: ArmRequest,
    ending: AbortSignal,
    started: number,
    onText?: OnText,
  ): Promise<ArmResult> {
    const body = completionBody(config, request);
    const extra = request.passthrough !== undefined;
    const options = { timeout: config.timeoutMs + 1000, extra };
    let queueMs: number | null = null;
    for (let attempt = 1; ; attempt += 1) {
      const turn = await rateTurn(request, ending, attempt - 1);
      if (turn !== null) return turn;
      queueMs ??= performance.now() - started;
      const result = await timed(ending, (signal) =>
        callOnce(client, config, body, { ...options, ...(headers && { headers: headers() }), signal }, (text, pieces) =>
          onText?.(text, attempt, pieces),
        ),
      );
      if ("text" in result) return answerOf(request, result, { attempts: attempt, queueMs, started });
      if (ending.aborted) return endedFailure(ending, attempt);
      const asked = result.retryAfterMs;
      const waitMs = asked === null ? backoff(attempt + 1) : asked + Math.random() * retryAfterJitterMs;
      if (!result.retriable || attempt > config.retries || clock.now() + waitMs >= request.deadline)
        return failure(result, attempt);
      log.warn(
        { requestId: request.requestId, arm: config.name, code: result.code, attempt, waitMs },
        "call failed, trying again",
      );
      await clock.sleep(waitMs, ending);
      if (ending.aborted) return endedFailure(ending, attempt);
    }
  }

  async function timed(
    ending: AbortSignal,
    call: (signal: AbortSignal) => Promise<Completion>,
  ): Promise<Completion | Problem> {
    const one = new AbortController();
    const stop = (): void => one.abort();
    ending.addEventListener("abort", stop, { once: true });
    const timer = setTimeout(stop, config.timeoutMs);
    try {
      return await call(one.signal);
    } catch (error) {
      if (!one.signal.aborted) return problemOf(error, clock.now());
      const message = `The endpoint did not answer within ${String(config.timeoutMs)} ms.`;
      return { code: "endpoint_timeout", message, retriable: true, retryAfterMs: null };
    } finally {
      clearTimeout(timer);
      ending.removeEventListener("abort", stop);
    }
  }

  /** Waits until the rate limit lets a call through; a failure when the deadline comes first. */
  async function rateTurn(request: ArmRequest, ending: AbortSignal, attempts: number): Promise<ArmFailure | null> {
    if (rate === null) return null;
    const waitMs = rate.take(clock.now(), request.deadline - clock.now());
    if (waitMs === null) {
      const message = `Arm "${config.name}" is at its ${String(perMinute)} requests a minute until after the deadline.`;
      return { kind: "failure", code: "rate_limited", message, attempts, retriable: true };
    }
    if (waitMs > 0) await clock.sleep(waitMs, ending);
    if (!ending.aborted) return null;
    rate.giveBack();
    return endedFailure(ending, attempts);
  }

  function answerOf(
    request: ArmRequest,
    reported: Completion,
    call: { attempts: number; queueMs: number; started: number },
  ): ArmAnswer {
    const { prompt, completion, cached, estimated } = reported.usage(() => promptTokens(request));
    const usage = { prompt, linked: 0, recomputed: 0, prefilled: prompt - cached, completion, estimated };
    return {
      kind: "answer",
      text: reported.text,
      ...(reported.extra !== null && { passthrough: reported.extra }),
      finishReason: reported.finishReason,
      model: (reported.model ?? config.model).slice(0, longestName),
      usage,
      cost: answerCost(usage, config.prices),
      attempts: call.attempts,
      queueMs: call.queueMs,
      firstTokenMs: reported.firstTokenAt === null ? null : reported.firstTokenAt - call.started,
    };
  }

  const close = (): Promise<void> => Promise.resolve(calls.close());

  return { name: config.name, model: config.model, concurrency: config.concurrency, answer, close };
}

function failure(problem: Problem, attempts: number): ArmFailure {
  const { code, message, retriable, unhealthy } = problem;
  return { kind: "failure", code, message, attempts, retriable, ...(unhealthy === true ? { unhealthy } : {}) };
}

/** Estimated, of the pieces and what passes through; of images nothing is known. */
function promptTokens({ pieces, passthrough = "" }: ArmRequest): number {
  const members = passthrough.replace(/"data:[^"]*"/g, '""');
  const replaced = rawMembers(passthrough === "" ? "{}" : passthrough).has("messages");
  const others = replaced ? pieces.filter(({ kind }) => kind === "system") : pieces;
  return others.reduce((sum, { text }) => sum + estimateTokens(text), estimateTokens(members));
}
