// One call of one replica of an endpoint arm, within its time, reported to the replica's breaker.
import type OpenAI from "openai";
import type { Verdict } from "../../algorithms/queueing/breaker.ts";
import type { EndpointArmConfig } from "../../config/sections/arms.ts";
import type { ArmRequest, OnText } from "../arm.ts";
import { endedFailure, longestTimer } from "../calls.ts";
import type { Completion } from "./answer.ts";
import { callOnce } from "./call.ts";
import { isArmsProblem, problemOf, type Problem } from "./errors.ts";
import type { Prepared, Protocol } from "./protocol.ts";
import type { Sent } from "./refusal.ts";
import type { Replicas } from "./replicas/replicas.ts";
import { longestWaitMs } from "./retry.ts";

export interface ReplicaCallDependencies {
  config: EndpointArmConfig;
  protocol: Protocol;
  client: OpenAI;
  replicas: Pick<Replicas, "acquire">;
  /** Besides those of the protocol. */
  headers?: (() => Record<string, string>) | undefined;
  now: () => number;
}

export interface ReplicaCall {
  request: ArmRequest;
  prepared: Prepared;
  /** Chooses among the replicas. */
  keyOf: () => string;
  /** Names of replicas that got the request; this one is added. */
  tried: Set<string>;
  attempt: number;
  /** Aborted when the answer is not wanted any more, or its deadline is over. */
  ending: AbortSignal;
  onText?: OnText | undefined;
}

export interface Called {
  result: Completion | Problem;
  /** What had come of an answer, where its head had come. */
  begun: Completion | undefined;
  /** Text was passed on. */
  hasText: boolean;
  replica: string;
  /** It had not been called for this request before. */
  isNew: boolean;
}

/** Rejects only for bugs. */
export async function callReplica(
  { config, protocol, client, replicas, headers, now }: ReplicaCallDependencies,
  { request, prepared, keyOf, tried, attempt, ending, onText }: ReplicaCall,
): Promise<Called> {
  const { body, open } = prepared;
  const timeoutMs = Math.min(config.timeoutMs, longestTimer);
  const began = performance.now();
  const { replica, end } = replicas.acquire(keyOf, tried);
  const isNew = !tried.has(replica.name);
  tried.add(replica.name);
  let soFar: (() => Completion) | undefined;
  let hasText = false;
  const { baseUrl, dispatcher, apiKey } = replica;
  const sent: Sent = { config: { ...config, apiKey, maxTokensField: protocol.maxTokensField }, request, body };
  const call = (signal: AbortSignal): Promise<Completion> => {
    const target = { url: protocol.url(baseUrl), open, dispatcher, stream: config.stream };
    const options = {
      ...{ timeout: Math.min(timeoutMs + 1000, longestTimer), extra: request.passthrough !== undefined },
      ...{ headers: { ...prepared.headers(replica), ...headers?.() }, signal },
      onBegin: (begun: () => Completion) => void (soFar = begun),
    };
    return callOnce(client, target, body, options, (text, pieces, blocks = [], thoughts) => {
      // Thoughts may break off: no answer begins with them.
      hasText ||= text !== "" || pieces.length + blocks.length > 0;
      onText?.(text, attempt, pieces, blocks, thoughts);
    });
  };
  const result = await timed(ending, timeoutMs, call, (error) => problemOf(error, now(), sent)).catch(
    (error: unknown) => {
      end("failure", request.tenant ?? "", null);
      throw error;
    },
  );
  end(verdictOf(result, ending, performance.now() - began), request.tenant ?? "", pauseOf(result));
  return { result, begun: "text" in result ? undefined : soFar?.(), hasText, replica: replica.name, isNew };
}

async function timed(
  ending: AbortSignal,
  timeoutMs: number,
  call: (signal: AbortSignal) => Promise<Completion>,
  problem: (error: unknown) => Problem,
): Promise<Completion | Problem> {
  const one = new AbortController();
  const stop = (): void => one.abort();
  ending.addEventListener("abort", stop, { once: true });
  const timer = setTimeout(stop, timeoutMs);
  try {
    return await call(one.signal);
  } catch (error) {
    if (!one.signal.aborted) return problem(error);
    const message = `The endpoint did not answer within ${timeoutMs} ms.`;
    return { code: "endpoint_timeout", message, retriable: true, retryAfterMs: null };
  } finally {
    clearTimeout(timer);
    ending.removeEventListener("abort", stop);
  }
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

const pauseOf = (result: Completion | Problem): number | null =>
  "text" in result || result.retryAfterMs === null ? null : Math.min(result.retryAfterMs, longestWaitMs);
