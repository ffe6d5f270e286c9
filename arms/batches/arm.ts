// An arm whose requests are lines of its provider's batches, which take up to a day and cost about
// half. Its calls hold no slot of other arms: it has a work topic and a stage of its own.
import { hash } from "node:crypto";
import { APIError } from "openai";
import type { Logger } from "pino";
import { requestKey } from "../../algorithms/identity/identity.ts";
import { isObject } from "../../algorithms/text/json-shape.ts";
import type { EndpointArmConfig } from "../../config/sections/arms.ts";
import { TAKEN_BACK, type Arm, type ArmFailure, type ArmRequest, type ArmResult } from "../arm.ts";
import { endedFailure } from "../calls.ts";
import type { Completion } from "../openai/answer.ts";
import { problemOf } from "../openai/errors.ts";
import { answerOf, failureOf, unsendable } from "../openai/outcome.ts";
import { Unsendable, type Prepared, type Protocol } from "../openai/protocol.ts";
import { createCollector, type BatchOutcome } from "./collector.ts";
import type { Provider } from "./port.ts";

/** Between two looks at a batch, at most. */
const mostPollMs = 60_000;
/** Age at which a batch is cancelled: 20 of the provider's 24 hours. */
const batchTimeoutMs = 72_000_000;

export interface BatchArmDependencies {
  provider: Provider;
  protocol: Protocol;
  log: Logger;
  /** Age at which a batch is cancelled, in milliseconds. */
  timeoutMs?: number | undefined;
}

/** @param protocol whose calls are not streamed */
export function createBatchArm(
  config: EndpointArmConfig,
  { provider, protocol, log, timeoutMs = batchTimeoutMs }: BatchArmDependencies,
): Arm {
  const { name, model, concurrency, batchCollectMs: collectMs } = config;
  const { maxTokensField } = protocol;
  const collector = createCollector({
    ...{ provider, log },
    ...{ collectMs, pollMs: Math.min(mostPollMs, collectMs), timeoutMs },
  });

  const resultOf = (request: ArmRequest, { body, open }: Prepared, outcome: BatchOutcome): ArmResult => {
    const sent = { config: { ...config, maxTokensField }, request, body };
    if ("reason" in outcome) return unanswered(outcome.reason);
    if ("refused" in outcome) return failureOf(problemOf(outcome.refused, Date.now(), sent), 0);
    const { response, error } = outcome;
    if (response === null) return unanswered(`the provider did not call the line: ${error}`);
    const call = { attempts: 1, queueMs: 0, started: 0, now: Date.now() };
    let soFar: (() => Completion) | undefined;
    try {
      if (response.status !== 200) {
        const reported = isObject(response.body) ? response.body : undefined;
        throw APIError.generate(response.status, reported, undefined, new Headers());
      }
      const extra = request.passthrough !== undefined;
      const answer = open({ isWhole: true, extra, headers: new Headers() });
      soFar = answer.soFar;
      answer.take(response.body, response.text);
      return answerOf(config, request, answer.complete(true), call);
    } catch (problem) {
      const failure = failureOf(problemOf(problem, Date.now(), sent), 1);
      const part = soFar && answerOf(config, request, soFar(), call);
      // The provider charges for answers that can't be used, too.
      if (part === undefined || (part.usage.completion === 0 && part.usage.estimated)) return failure;
      return { ...failure, spent: { usage: part.usage, cost: part.cost, calls: 1 } };
    }
  };

  return {
    ...{ name, model, concurrency },
    async answer(request, signal) {
      const { requestId, tenant = "", deadline } = request;
      let prepared: Prepared;
      try {
        prepared = protocol.prepare(request);
      } catch (error) {
        if (!(error instanceof Unsendable)) throw error;
        return unsendable(name, error);
      }
      const ending = new AbortController();
      const cancel = (): void => ending.abort("cancelled");
      const timer = setTimeout(() => ending.abort("deadline"), Math.max(0, deadline - Date.now()));
      signal.addEventListener("abort", cancel, { once: true });
      if (signal.aborted) cancel();
      const withdrawn = (): boolean => ending.signal.reason === "deadline" || signal.reason === TAKEN_BACK;
      const id = hash("sha256", requestKey(tenant, requestId)).slice(0, 40);
      const outcome = await collector
        .submit({ id, body: prepared.body, deadline }, ending.signal, withdrawn)
        .finally(() => {
          clearTimeout(timer);
          signal.removeEventListener("abort", cancel);
        });
      return outcome === null ? endedFailure(ending.signal, 0) : resultOf(request, prepared, outcome);
    },
    close: () => Promise.resolve(collector.close()),
  };
}

/** The arm's own failure: another arm may answer. */
const unanswered = (reason: string): ArmFailure => ({
  ...{ kind: "failure", code: "endpoint_unavailable", message: `No answer by a batch: ${reason}.`, attempts: 0 },
  retriable: true,
});
