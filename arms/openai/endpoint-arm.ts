// An arm behind an endpoint, in the format of a protocol: slots, rate limit, retries, deadline. A
// call may be made and charged more than once; its answer is returned once and whole.
import { setTimeout as sleepFor } from "node:timers/promises";
import OpenAI from "openai";
import type { Logger } from "pino";
import type { BreakerSettings } from "../../algorithms/queueing/breaker.ts";
import { promptTokens } from "../../algorithms/text/prompt-tokens.ts";
import type { EndpointArmConfig } from "../../config/sections/arms.ts";
import type { Arm, ArmFailure, ArmRequest, ArmResult, OnText, Spent } from "../arm.ts";
import { createCalls, endedFailure } from "../calls.ts";
import { costAtMost, pricedOf } from "../cost.ts";
import { backoffMs } from "./backoff.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { isArmsProblem, NoResponse } from "./errors.ts";
import { answerOf, failureOf, tooExpensive, unsendable, withCall } from "./outcome.ts";
import { Unsendable, type Prepared, type Protocol } from "./protocol.ts";
import { createRateLimit } from "./rate.ts";
import { callReplica, type Called } from "./replica-call.ts";
import { followMembers, type Lookup } from "./replicas/members.ts";
import { prefixKey } from "./replicas/prefix-key.ts";
import { createReplicas, type Choose } from "./replicas/replicas.ts";
import { nextCall, retryWaitMs } from "./retry.ts";

export interface EndpointArmDependencies {
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

const usualBreaker: BreakerSettings = {
  ...{ share: 0.5, minimum: 5, windowMs: 30_000, openMs: 5_000, mostOpenMs: 60_000, probes: 2 },
};

export function createEndpointArm(
  config: EndpointArmConfig,
  protocol: Protocol,
  {
    log,
    headers,
    clock = systemClock,
    backoff = (next) => backoffMs(next, Math.random()),
    ...dependencies
  }: EndpointArmDependencies,
): Arm {
  const { name, model, concurrency } = config;
  const client = createClient(dependencies.fetch);
  const priced = pricedOf(config);
  const members = followMembers(config, { log, lookup: dependencies.lookup });
  const { breaker = usualBreaker, choose } = dependencies;
  const replicas = createReplicas({ members, breaker, clock: () => performance.now(), random: Math.random, choose });
  const calls = createCalls(concurrency, dependencies.weightOf);
  const perMinute = config.requestsPerMinute;
  const rate =
    perMinute === undefined
      ? null
      : createRateLimit(perMinute, Math.max(1, Math.min(concurrency, Math.floor(perMinute / 10))));
  const call = { config, protocol, client, replicas, headers, now: clock.now };

  function answer(request: ArmRequest, signal: AbortSignal, onText?: OnText): Promise<ArmResult> {
    const started = performance.now();
    return calls.run(request, signal, async (ending) => {
      try {
        return await attempts(request, protocol.prepare(request), { ending, started, onText });
      } catch (error) {
        if (error instanceof Unsendable) return unsendable(name, error);
        throw error;
      }
    });
  }

  async function attempts(
    request: ArmRequest,
    prepared: Prepared,
    { ending, started, onText }: { ending: AbortSignal; started: number; onText?: OnText | undefined },
  ): Promise<ArmResult> {
    const tried = new Set<string>();
    let key: string | undefined;
    const keyOf = (): string => (key ??= prefixKey(name, request));
    let queueMs: number | null = null;
    let spent: Spent | undefined;
    let unanswered: ArmFailure | undefined;
    let unreachable = 0;
    for (let attempt = 1; ; attempt += 1) {
      const left = (request.maxCost ?? Infinity) - (spent?.cost ?? 0);
      const atMost = left === Infinity ? 0 : callCostAtMost(request);
      if (atMost > left) return unanswered ?? tooExpensive(name, atMost, left);
      const turn = await rateTurn(request, ending, attempt - 1);
      if (turn !== null) return { ...turn, spent };
      queueMs ??= performance.now() - started;
      const called = await callReplica(call, { request, prepared, keyOf, tried, attempt, ending, onText });
      const { result, replica, begun, hasText } = called;
      const made = { attempts: attempt, queueMs, started, now: clock.now() };
      if ("text" in result) {
        const whole = answerOf(config, request, result, made);
        return { ...whole, cost: whole.cost + (spent?.cost ?? 0), spent };
      }
      // An endpoint also charges for answers that broke off.
      const part = begun && answerOf(config, request, begun, made);
      if (part && (isCut(called, ending) || part.usage.completion > 0 || !part.usage.estimated))
        spent = withCall(spent, part);
      if (ending.aborted) return { ...endedFailure(ending, attempt), spent };
      const next = nextCall(result, called.isNew, replicas, tried);
      if (next.movesOn) {
        unreachable++;
        rate?.giveBack();
      }
      const waitMs = retryWaitMs({
        ...{ problem: result, next, mayRetry: attempt - unreachable <= config.retries },
        ...{ backoffMs: () => backoff(attempt + 1), random: Math.random },
      });
      // The reader has the beginning of this arm's answer; another arm's would begin differently.
      const isRead = hasText && onText !== undefined;
      const takesOver = request.replaceable === true && isArmsProblem(result) && !next.hasOther && !isRead;
      unanswered = { ...failureOf(result, attempt), ...(next.hasOther && { replicasLeft: true }), spent };
      if (waitMs === null || takesOver || clock.now() + waitMs >= request.deadline) return unanswered;
      const facts = { requestId: request.requestId, arm: name, replica, code: result.code, attempt, waitMs };
      log.warn(facts, "call failed, trying again");
      await clock.sleep(waitMs, ending);
      if (ending.aborted) return { ...endedFailure(ending, attempt), spent };
    }
  }

  const callCostAtMost = ({ pieces, passthrough, params }: ArmRequest): number =>
    costAtMost(priced, promptTokens(pieces, passthrough), params.maxTokens, passthrough);

  /** Waits until the rate limit lets a call through; a failure when the deadline comes first. */
  async function rateTurn(request: ArmRequest, ending: AbortSignal, attempts: number): Promise<ArmFailure | null> {
    if (rate === null) return null;
    const waitMs = rate.take(clock.now(), request.deadline - clock.now());
    if (waitMs === null) {
      const message = `Arm "${name}" is at its ${String(perMinute)} requests a minute until after the deadline.`;
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

  return { name, model, concurrency, answer, replicas: replicas.states, close };
}

/** Each call has the address and the key of its replica. */
const createClient = (call: typeof fetch | undefined): OpenAI =>
  new OpenAI({
    ...{ baseURL: "http://127.0.0.1", apiKey: "none", organization: null, project: null },
    ...{ defaultHeaders: { authorization: null }, maxRetries: 0 },
    fetch: (url, init) =>
      boundedFetch(url, init, call).catch((error: unknown) => {
        throw init?.signal?.aborted ? error : new NoResponse(error);
      }),
    // At any other level it logs prompts.
    logLevel: "off",
  });

/** The answer had begun, or its call was given up: the endpoint may have made more of it. */
const isCut = ({ result, hasText }: Called, ending: AbortSignal): boolean =>
  hasText ||
  ending.aborted ||
  ("code" in result && (result.code === "stream_cut" || result.code === "endpoint_timeout"));
