// Any OpenAI-compatible endpoint: slots, rate limit, retries, deadline. A call may be made and
// charged more than once; its answer is returned once and whole.
import { setTimeout as sleepFor } from "node:timers/promises";
import OpenAI from "openai";
import type { Logger } from "pino";
import type { BreakerSettings, Verdict } from "../../algorithms/queueing/breaker.ts";
import { estimateTokens } from "../../algorithms/text/tokens.ts";
import { priceList } from "../../config/prices.ts";
import type { OpenAiArmConfig } from "../../config/schema.ts";
import type { EndpointArmConfig } from "../../config/sections/arms.ts";
import type { Arm, ArmAnswer, ArmFailure, ArmRequest, ArmResult, OnText, Spent } from "../arm.ts";
import { backoffMs } from "./backoff.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { createCalls, endedFailure, longestTimer } from "../calls.ts";
import { answerCost, costAtMost, tokenBounds } from "../cost.ts";
import { promptTokens, textsSent } from "../../algorithms/text/prompt-tokens.ts";
import { openAiProtocol, Unsendable, type Prepared, type Protocol } from "./protocol.ts";
import type { Completion } from "./answer.ts";
import { callOnce } from "./call.ts";
import { isArmsProblem, NoResponse, type Problem, problemOf } from "./errors.ts";
import type { Sent } from "./refusal.ts";
import { createRateLimit } from "./rate.ts";
import { followMembers, type Lookup } from "./replicas/members.ts";
import { prefixKey } from "./replicas/prefix-key.ts";
import { createReplicas, type Choose } from "./replicas/replicas.ts";

export interface OpenAiArmDependencies {
  log: Logger;
  /** Milliseconds before attempt `next`, where the endpoint asks for nothing else. */
  backoff?: (next: number) => number;
  clock?: ArmClock;
  headers?: (() => Record<string, string>) | undefined;
  /** When a replica's breaker opens. */
  breaker?: BreakerSettings;
  /** Replaces prefix affinity; for benchmarks. */
  choose?: Choose;
  /** Replaces the system's resolver; for tests. */
  lookup?: Lookup;
  /** In place of a connection; for tests. */
  fetch?: typeof fetch;
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
// An endpoint that asks for more has failed: a slot and a client would wait for it.
const longestWaitMs = 300_000;
// Length of an endpoint's name for its model, which stands in every record.
const longestName = 200;

const usualBreaker: BreakerSettings = {
  ...{ share: 0.5, minimum: 5, windowMs: 30_000, openMs: 5_000, mostOpenMs: 60_000, probes: 2 },
};

export const createOpenAiArm = (config: OpenAiArmConfig, dependencies: OpenAiArmDependencies): Arm =>
  createEndpointArm(config, openAiProtocol(config), dependencies);

/** An arm that calls an endpoint in the format of the given protocol. */
export function createEndpointArm(
  config: EndpointArmConfig,
  protocol: Protocol,
  dependencies: OpenAiArmDependencies,
): Arm {
  const {
    log,
    headers,
    clock = systemClock,
    backoff = (next: number) => backoffMs(next, Math.random()),
  } = dependencies;
  const client = new OpenAI({
    // The client requires an address and a key; each call has those of its replica.
    baseURL: "http://127.0.0.1",
    apiKey: "none",
    organization: null,
    project: null,
    defaultHeaders: { authorization: null },
    maxRetries: 0,
    fetch: (url, init) =>
      boundedFetch(url, init, dependencies.fetch).catch((error: unknown) => {
        throw init?.signal?.aborted ? error : new NoResponse(error);
      }),
    // At any other level it logs prompts.
    logLevel: "off",
  });
  const prices = priceList(config);
  const members = followMembers(config, { log, lookup: dependencies.lookup });
  const { breaker = usualBreaker, choose } = dependencies;
  const replicas = createReplicas({ members, breaker, clock: () => performance.now(), random: Math.random, choose });
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
    let prepared: Prepared;
    try {
      prepared = protocol.prepare(request);
    } catch (error) {
      if (!(error instanceof Unsendable)) throw error;
      return unsendable(config.name, error);
    }
    const { body, open } = prepared;
    const tried = new Set<string>();
    let key: string | undefined;
    const keyOf = (): string => (key ??= prefixKey(config.name, request));
    const extra = request.passthrough !== undefined;
    const timeoutMs = Math.min(config.timeoutMs, longestTimer);
    const options = { timeout: Math.min(timeoutMs + 1000, longestTimer), extra };
    let queueMs: number | null = null;
    let spent: Spent | undefined;
    let unanswered: ArmFailure | undefined;
    let unreachable = 0;
    for (let attempt = 1; ; attempt += 1) {
      const left = (request.maxCost ?? Infinity) - (spent?.cost ?? 0);
      const atMost = left === Infinity ? 0 : callCostAtMost(request);
      if (atMost > left) return unanswered ?? tooExpensive(atMost, left);
      const turn = await rateTurn(request, ending, attempt - 1);
      if (turn !== null) return { ...turn, spent };
      queueMs ??= performance.now() - started;
      let soFar: (() => Completion) | undefined;
      let hasText = false;
      const began = performance.now();
      const { replica, end } = replicas.acquire(keyOf, tried);
      const isNew = !tried.has(replica.name);
      tried.add(replica.name);
      const { baseUrl, dispatcher, apiKey } = replica;
      const { maxTokensField } = protocol;
      const sent: Sent = { config: { ...config, apiKey, maxTokensField }, request, body };
      const result = await timed(ending, timeoutMs, sent, (signal) =>
        callOnce(
          client,
          { url: protocol.url(baseUrl), open, dispatcher, stream: config.stream },
          body,
          {
            ...{ ...options, headers: { ...prepared.headers(replica), ...headers?.() } },
            ...{ signal, onBegin: (begun) => (soFar = begun) },
          },
          (text, pieces, blocks) => {
            hasText = true;
            onText?.(text, attempt, pieces, blocks);
          },
        ),
      ).catch((error: unknown) => {
        end("failure", request.tenant ?? "", null);
        throw error;
      });
      end(verdictOf(result, ending, performance.now() - began), request.tenant ?? "", pauseOf(result));
      const call = { attempts: attempt, queueMs, started, now: clock.now() };
      if ("text" in result) {
        const answer = answerOf(config, request, result, call);
        return { ...answer, cost: answer.cost + (spent?.cost ?? 0), spent };
      }
      // An endpoint also charges for answers that broke off.
      const part = soFar && answerOf(config, request, soFar(), call);
      if (
        part !== undefined &&
        (isCut(result, ending) || hasText || part.usage.completion > 0 || !part.usage.estimated)
      )
        spent = { usage: part.usage, cost: part.cost + (spent?.cost ?? 0), calls: (spent?.calls ?? 0) + 1 };
      if (ending.aborted) return { ...endedFailure(ending, attempt), spent };
      const asked = result.retryAfterMs;
      const movesOn = result.unreachable === true && isNew && replicas.isLeft(tried);
      const hasOther = movesOn || (isArmsProblem(result) && replicas.hasOther(tried));
      if (movesOn) {
        unreachable++;
        rate?.giveBack();
      }
      const ownWaitMs = asked === null ? backoff(attempt + 1) : asked + Math.random() * retryAfterJitterMs;
      // An untried replica is left: no back-off is needed.
      const waitMs = hasOther ? 0 : ownWaitMs;
      const isRetried = movesOn || attempt - unreachable <= config.retries;
      const isOver = !(result.retriable || hasOther) || !isRetried || waitMs > longestWaitMs;
      // What a reader has is the beginning of this arm's answer: another's would hardly begin so.
      const takesOver =
        request.replaceable === true && isArmsProblem(result) && !hasOther && !(hasText && onText !== undefined);
      unanswered = { ...failureOf(result, attempt), ...(hasOther && { replicasLeft: true }), spent };
      if (isOver || takesOver || clock.now() + waitMs >= request.deadline) return unanswered;
      log.warn(
        { requestId: request.requestId, arm: config.name, replica: replica.name, code: result.code, attempt, waitMs },
        "call failed, trying again",
      );
      await clock.sleep(waitMs, ending);
      if (ending.aborted) return { ...endedFailure(ending, attempt), spent };
    }
  }

  const callCostAtMost = ({ pieces, passthrough, params }: ArmRequest): number =>
    costAtMost({ ...tokenBounds(config), prices }, promptTokens(pieces, passthrough), params.maxTokens, passthrough);

  function tooExpensive(atMost: number, left: number): ArmFailure {
    const message = `A call of arm "${config.name}" may cost ${money(atMost)}, and ${money(left)} of allow.max_cost is left: raise it, or set a lower max_tokens.`;
    return { kind: "failure", code: "too_expensive", message, attempts: 0, retriable: false, param: maxCostParam };
  }

  async function timed(
    ending: AbortSignal,
    timeoutMs: number,
    sent: Sent,
    call: (signal: AbortSignal) => Promise<Completion>,
  ): Promise<Completion | Problem> {
    const one = new AbortController();
    const stop = (): void => one.abort();
    ending.addEventListener("abort", stop, { once: true });
    const timer = setTimeout(stop, timeoutMs);
    try {
      return await call(one.signal);
    } catch (error) {
      if (!one.signal.aborted) return problemOf(error, clock.now(), sent);
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

  const close = (): Promise<void> => {
    calls.close();
    members.close();
    return Promise.resolve();
  };

  const { name, model, concurrency } = config;
  return { name, model, concurrency, answer, replicas: replicas.states, close };
}

export function unsendable(arm: string, { message: what, param }: Unsendable): ArmFailure {
  const message = `Arm "${arm}" can't be sent ${what}: change or leave out ${param}.`;
  return { kind: "failure", code: "request_rejected", message, attempts: 0, retriable: false, param };
}

/** A request's deadline counts against a replica only after at least this time. */
const slowCallMs = 30_000;

function verdictOf(result: Completion | Problem, ending: AbortSignal, ms: number): Verdict {
  if ("text" in result) return "success";
  if (ending.aborted)
    return ms >= slowCallMs && endedFailure(ending, 1).code === "endpoint_timeout" ? "failure" : "ignored";
  if (result.unreachable === true) return "unreachable";
  return isArmsProblem(result) ? "failure" : "ignored";
}

/** The stream ended before its answer did, without an error. */
const isCut = ({ code }: Problem, ending: AbortSignal): boolean =>
  ending.aborted || code === "stream_cut" || code === "endpoint_timeout";

const pauseOf = (result: Completion | Problem): number | null =>
  "text" in result || result.retryAfterMs === null ? null : Math.min(result.retryAfterMs, longestWaitMs);

const maxCostParam = "precedent.allow.max_cost";
const money = (amount: number): string => String(Number(amount.toPrecision(3)));

export function failureOf(
  { code, message, retriable, unhealthy, param, retryAfterMs }: Problem,
  attempts: number,
): ArmFailure {
  return {
    ...{ kind: "failure", code, message, attempts, retriable },
    ...(unhealthy === true && { unhealthy }),
    ...(param !== undefined && { param }),
    ...(retryAfterMs !== null && { retryAfterMs }),
  };
}

interface Made {
  attempts: number;
  queueMs: number;
  /** performance.now() of its beginning. */
  started: number;
  /** Milliseconds since the epoch, for the prices. */
  now: number;
}

export function answerOf(config: EndpointArmConfig, request: ArmRequest, reported: Completion, call: Made): ArmAnswer {
  const { hourWrite, ...counted } = reported.usage(() => estimatedPrompt(request));
  const usage = { ...counted, linked: 0, recomputed: 0, prefilled: counted.prompt - counted.cached };
  return {
    kind: "answer",
    text: reported.text,
    ...(reported.extra !== null && { passthrough: reported.extra }),
    finishReason: reported.finishReason,
    model: (reported.model ?? config.model).slice(0, longestName),
    usage,
    cost: answerCost({ ...usage, hourWrite }, priceList(config), call.now),
    attempts: call.attempts,
    queueMs: call.queueMs,
    firstTokenMs: reported.firstTokenAt === null ? null : reported.firstTokenAt - call.started,
  };
}

/** Estimated; of images nothing is known. */
const estimatedPrompt = ({ pieces, passthrough }: ArmRequest): number =>
  textsSent(pieces, passthrough).reduce((sum, text) => sum + estimateTokens(text), 0);
