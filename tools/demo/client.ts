// The demo as a client of the system: produces requests, and reads responses and decisions from
// their topics as any other client would. One producer and two readers for the whole run.
import { v7 as uuid } from "uuid";
import type { Session } from "../../pipelines/session.ts";
import { plainRequest } from "../../schemas/plain-request.ts";
import { plainFeedback } from "../../schemas/plain-feedback.ts";
import type { Decision, Request, Response } from "../../schemas/types.ts";
import { demoClient, demoDomain, demoTenant } from "./sample-data.ts";

export interface Answered {
  response: Response;
  decision: Decision | null;
}

export interface AskOptions {
  /** Stands in the request's metadata, so that queries find what a scene asked. */
  scene?: string;
  /** Only this arm may answer. */
  arm?: string;
  /** Sharing domain; the demo's by default. */
  domain?: string;
  /** System turn before the question. */
  system?: string;
  /** Longest answer, tokens; as the arm is configured by default. */
  maxTokens?: number;
  stop?: readonly string[];
  /** Selects one of several recorded answers. */
  seed?: number;
  /** What of its linked chunks is computed again; otherwise as the arm is configured. */
  linkPolicy?: string;
  /** How long the answer is waited for, by the system too; two minutes by default. */
  timeoutMs?: number;
}

export interface Client {
  /** Names this run in the requests' metadata. */
  readonly run: string;
  /** Id of the request asked last. */
  readonly last: string | undefined;
  ask(question: string, options?: AskOptions): Promise<Answered>;
  /** A reward in [0, 1] for the answer to a request; said once, however often it is sent. */
  reward(requestId: string, value: number, comment: string): Promise<void>;
  close(): Promise<void>;
}

/** No answer to a request came in time. */
export class NoResponse extends Error {
  override name = "NoResponse";
}

const usualTimeoutMs = 120_000;
/** A decision is committed before its response, but read from another topic. */
const decisionWaitMs = 3_000;

interface Waiting {
  response?: Response;
  decision?: Decision;
  timer?: NodeJS.Timeout;
  finish(): void;
  fail(reason: Error): void;
}

export async function openClient({ kafka, codec, topic }: Session, signal: AbortSignal): Promise<Client> {
  const run = uuid();
  const waiting = new Map<string, Waiting>();
  const listen = <N extends "responses" | "decisions">(
    name: N,
    found: (entry: Waiting, record: { responses: Response; decisions: Decision }[N]) => void,
  ) =>
    kafka.tailTopic(topic(name), ({ value }) => {
      if (value === null) return;
      void codec.decode(name, value).then((decoded) => {
        const entry = decoded.ok ? waiting.get(decoded.value.requestId) : undefined;
        if (!decoded.ok || entry === undefined) return;
        found(entry, decoded.value);
        entry.finish();
      });
    });
  const tails = await Promise.all([
    listen("responses", (entry, response) => (entry.response ??= response)),
    listen("decisions", (entry, decision) => (entry.decision ??= decision)),
  ]);
  const producer = kafka.plainProducer();
  const abort = (): void => {
    for (const entry of [...waiting.values()]) entry.fail(new Error("stopped"));
  };
  signal.addEventListener("abort", abort, { once: true });

  let last: string | undefined;
  async function ask(question: string, options: AskOptions = {}): Promise<Answered> {
    signal.throwIfAborted();
    const { timeoutMs = usualTimeoutMs } = options;
    const request = requestOf(question, run, { ...options, timeoutMs });
    last = request.id;
    const answered = new Promise<Answered>((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(deadline);
        clearTimeout(entry.timer);
        waiting.delete(request.id);
        settle();
      };
      const entry: Waiting = {
        finish() {
          const { response, decision } = entry;
          if (response === undefined) return;
          const done = (): void => end(() => resolve({ response, decision: decision ?? null }));
          if (decision !== undefined || response.arm === null) done();
          else entry.timer ??= setTimeout(done, decisionWaitMs);
        },
        fail: (reason) => end(() => reject(reason)),
      };
      const deadline = setTimeout(
        () => entry.fail(new NoResponse(`no response to "${question}" within ${timeoutMs / 1000} s`)),
        timeoutMs,
      );
      waiting.set(request.id, entry);
    });
    // Settled by then or not: the send's own failure must not leave it unhandled.
    answered.catch(() => undefined);
    await producer.send([{ topic: topic("requests"), key: request.id, value: codec.encode("requests", request) }]);
    return answered;
  }

  async function reward(requestId: string, value: number, comment: string): Promise<void> {
    const feedback = plainFeedback({
      ...{ id: `demo-${requestId}`, requestId, tenant: demoTenant, kind: "reward", value, source: "system" },
      ...{ author: "demo", comment, createdAt: Date.now() },
    });
    await producer.send([{ topic: topic("feedback"), key: requestId, value: codec.encode("feedback", feedback) }]);
  }

  return {
    run,
    get last() {
      return last;
    },
    ask,
    reward,
    async close() {
      signal.removeEventListener("abort", abort);
      await Promise.allSettled([producer.close(), ...tails.map((tail) => tail.stop())]);
    },
  };
}

function requestOf(
  question: string,
  run: string,
  { scene, arm, domain = demoDomain, system, maxTokens, stop = [], seed, ...options }: AskOptions,
): Request & { id: string } {
  const { linkPolicy, timeoutMs = usualTimeoutMs } = options;
  const request = plainRequest(question, {
    ...{ id: uuid(), tenant: demoTenant, domain },
    params: { maxTokens: maxTokens ?? null, temperature: null, topP: null, seed: seed ?? null, stop: [...stop] },
    allow: { arms: arm === undefined ? null : [arm], maxCost: null, deadlineMs: timeoutMs, costWeight: null },
    mayAsk: true,
    metadata: { client: demoClient, run, ...(scene && { scene }), ...(linkPolicy && { "link-policy": linkPolicy }) },
    createdAt: Date.now(),
  });
  if (system !== undefined) request.messages.unshift({ role: "system", content: system });
  return request;
}
