// A GGUF model through llama.cpp in a process of its own, greedy by default. A dead or hanging
// worker is replaced after a growing pause; its requests are tried once more, then fail with
// model_failed.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { LlamaArmConfig } from "../../config/schema.ts";
import { superviseWorker } from "../../connections/worker/supervised.ts";
import type { Arm, ArmFailure, ArmRequest, ArmResult } from "../arm.ts";
import { createCalls, endedFailure } from "../calls.ts";
import { type BuildAgenda, createIdleBuild, type DocumentBuilds } from "../linked/build.ts";
import { createLinkedChoice } from "../linked/choice.ts";
import { type CurveOf, followHistory, type LinkHistory } from "../linked/history.ts";
import { startUpkeep } from "../linked/upkeep.ts";
import { buildsCaches, llamaInput, piecesOf } from "./input.ts";
import type { Generate, Generated, LlamaEvent, LlamaFacts, LlamaMethods } from "./methods.ts";
import { failure, ownCalls, resultOf, wanted } from "./outcome.ts";
import { createWatchdog } from "./watchdog.ts";

type OnText = (text: string, attempt: number) => void;

export interface LlamaArm extends Arm {
  /** Process id of the model's process; it changes with every restart. */
  pid(): number;
}

const longestLoadMs = 120_000;
// A worker is back in seconds, or minutes on a busy machine: a request waits for that rather than
// fail, unless the model can't be loaded.
const mostFailedStarts = 3;
// A prompt that kills the worker does so again: it may take down two, and not more.
const mostAttempts = 2;

export interface LlamaArmDependencies {
  log: Logger;
  /** Where chunk caches are kept; without it they are kept in memory alone. */
  kvFolder?: string | undefined;
  /** What linked prefills were found to be worth, by all processes of the arm. */
  history?: LinkHistory | undefined;
  /** Whose caches are made before a request shows them; without it they wait for one. */
  agenda?: BuildAgenda | undefined;
  /** Documents, likewise. */
  documents?: DocumentBuilds | undefined;
  /** A tenant's share of the turns of calls that wait; all are equal by default. */
  weightOf?: (tenant: string) => number;
}

/** Rejects when there is no such file, or when it is no model that llama.cpp can load. */
export async function createLlamaArm(
  config: LlamaArmConfig,
  { log, kvFolder, history, agenda, documents, weightOf }: LlamaArmDependencies,
): Promise<LlamaArm> {
  const input = await llamaInput(config, kvFolder);
  let facts: LlamaFacts = {
    ...{ name: "", loadMs: 0, pid: 0, fingerprint: "", devices: [], flashAttention: true, unlinkable: null },
    scored: false,
  };
  const worker = await superviseWorker<LlamaMethods>({
    name: `llama ${config.name}`,
    entry: new URL("./worker.ts", import.meta.url),
    data: input,
    // A crash of llama.cpp must not take the stage along.
    isolation: "process",
    log,
    prepare: async (client) => {
      const timer = setTimeout(
        () => client.kill(`the model was not loaded in ${String(longestLoadMs)} ms`),
        longestLoadMs,
      );
      facts = await client.call("load", null).finally(() => clearTimeout(timer));
      // The next process need not read the whole file for it.
      input.linked.fingerprint = facts.fingerprint;
      const { name: loaded, loadMs, devices, flashAttention, unlinkable } = facts;
      log.info(
        { arm: config.name, model: loaded, devices, flashAttention, loadMs: Math.round(loadMs) },
        "model loaded",
      );
      if (unlinkable !== null)
        log.warn(
          { arm: config.name, model: loaded, reason: unlinkable },
          "prompts are prefilled in full: nothing can be linked",
        );
    },
  });
  const choice = createLinkedChoice({ ...config.linked, scored: facts.scored }, Math.random);
  const calls = createCalls(config.concurrency, weightOf);
  let pending = 0;
  const watchdog = createWatchdog(
    config.stallMs,
    () => pending > 0,
    () => worker.kill(`no token came for ${String(config.stallMs)} ms`),
  );

  const of = (): CurveOf => ({ model: facts.fingerprint, convention: config.linked.convention });
  const follower = followHistory({ choice, history, of, log });
  const building =
    buildsCaches(config) && (documents ?? agenda)
      ? createIdleBuild({
          documents,
          agenda: (config.examples && agenda) || null,
          cached: async () => (await worker.call("cached", null)).examples,
          build: (item, signal) => {
            const pieces = "pieces" in item ? item.pieces : piecesOf(config, item);
            return worker.call("build", { pieces, domain: item.domain }, { signal });
          },
        })
      : undefined;
  const upkeep = startUpkeep({
    busy: () => pending > 0 || !worker.ready,
    async work(ending) {
      const { more, samples } = await worker.call("idle", null, { signal: ending });
      for (const sample of samples) follower.measured(sample);
      return more || (building !== undefined && facts.unlinkable === null && (await building.next(ending)));
    },
  });

  function answer(request: ArmRequest, signal: AbortSignal, onText?: OnText): Promise<ArmResult> {
    const called = performance.now();
    const call = (ending: AbortSignal) => attempts(request, ending, called, onText);
    return calls.run(request, signal, call, (over) => void prefetch(request, over));
  }

  /** While the request waits for its turn; what fails is read then. */
  async function prefetch({ pieces, linkPolicy, caching = ownCalls }: ArmRequest, over: AbortSignal): Promise<void> {
    if (!caching.mayStore) return;
    const policy = choice.policy(linkPolicy ?? null);
    await worker.call("prefetch", { pieces, policy, domain: caching.domain }, { signal: over }).catch(() => undefined);
  }

  async function attempts(
    request: ArmRequest,
    ending: AbortSignal,
    called: number,
    onText?: OnText,
  ): Promise<ArmResult> {
    let queueMs: number | null = null;
    for (let attempt = 1; ; attempt += 1) {
      // Another arm answers sooner than a worker is back.
      if (request.replaceable !== true) await restarted(ending);
      if (ending.aborted) return endedFailure(ending, attempt - 1);
      if (!worker.ready) return failed(attempt - 1);
      const before = performance.now() - called;
      queueMs ??= before;
      let hasText = false;
      try {
        const listen =
          onText &&
          ((text: string) => {
            hasText = true;
            onText(text, attempt);
          });
        const { requestId, tenant = "default", linkPolicy = null } = request;
        const policy = choice.policy(linkPolicy);
        const compare = choice.compare({ requestId, tenant }, policy);
        const stream = onText !== undefined;
        const result = await generate({ ...wanted(config, request), stream, policy, compare }, ending, listen);
        const timing = { queueMs, before, attempt };
        return resultOf(config, facts.name, timing, request, result) ?? endedFailure(ending, attempt);
      } catch (error) {
        if (ending.aborted) return endedFailure(ending, attempt);
        log.error({ arm: config.name, requestId: request.requestId, attempt, err: error }, "the model failed");
        if (attempt === mostAttempts || (request.replaceable === true && !hasText)) return failed(attempt);
      }
    }
  }

  /** Returns when there is a worker, the call is over, or none can be started. */
  async function restarted(ending: AbortSignal): Promise<void> {
    while (!worker.ready && !ending.aborted && worker.failedStarts < mostFailedStarts)
      await sleep(50, undefined, { signal: ending }).catch(() => undefined);
  }

  async function generate(what: Generate, signal: AbortSignal, onText?: (text: string) => void): Promise<Generated> {
    pending += 1;
    upkeep.interrupt();
    const onEvent = (sent: unknown): void => {
      watchdog.progress();
      // The worker sends nothing else.
      const event = sent as LlamaEvent;
      if (event.kind === "text") onText?.(event.text);
    };
    try {
      return await worker.call("generate", what, { signal, onEvent });
    } finally {
      pending -= 1;
      watchdog.progress();
    }
  }

  const failed = (attempts: number): ArmFailure =>
    failure("model_failed", `The model of arm "${config.name}" failed; its worker is restarted.`, true, attempts);

  async function close(): Promise<void> {
    watchdog.stop();
    follower.stop();
    calls.close();
    await upkeep.close();
    await worker.close();
  }

  return {
    name: config.name,
    model: facts.name,
    concurrency: config.concurrency,
    answer,
    caches: {
      cached: () => (worker.ready ? worker.call("cached", null) : Promise.resolve({ examples: [], documents: [] })),
      forget: (cached) => worker.call("forget", cached),
    },
    inventory: () => (worker.ready ? worker.call("inventory", null) : Promise.resolve(null)),
    close,
    pid: () => facts.pid,
  };
}
