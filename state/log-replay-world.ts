// A log replay's clock, chance, load and arms, all from the log, so that log, policy and seed
// decide alone. A record's time is its request's, moved on by what the log says that its arm took.
import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { requestKey } from "../algorithms/identity/identity.ts";
import { utilisationOf, type Load, type SaturationBias } from "../algorithms/routing/load-bias.ts";
import { splitmix64, type Random } from "../algorithms/numeric/random.ts";
import type { Arm, ArmFailure, ArmRequest, ArmResult } from "../arms/arm.ts";
import { NO_USAGE } from "../schemas/no-usage.ts";
import type { ArmConfig } from "../config/schema.ts";
import type { RecordOf, TopicName } from "../schemas/records.ts";
import type { LogReplayWorld } from "./session.ts";
import type { LoggedAnswer, Replayed } from "./log-replay-row.ts";

export interface WorldOptions {
  /** A request that is under way. */
  find(tenant: string, id: string): Replayed | undefined;
  seed: bigint;
  /** The beginning of the window, moved as all its times are. */
  beginning: number;
  /** Logged time that passes in one of ours; Infinity: answers come at once. */
  speed: number;
  liveArms: ReadonlySet<string>;
  saturation(): SaturationBias;
  modelOf(arm: ArmConfig): string;
}

interface Course {
  now: number;
  random: Random;
  load: Load;
}

const idle: Load = { costlier: 0, byArm: new Map() };

export function createWorld(options: WorldOptions): LogReplayWorld {
  const { find, seed, beginning } = options;
  const courses = new AsyncLocalStorage<Course>();
  const outside = splitmix64(seed);
  const clock = (): number => courses.getStore()?.now ?? beginning;
  const goOn = (ms: number): void => {
    const course = courses.getStore();
    // Times of records are whole milliseconds.
    if (course !== undefined) course.now += Math.round(ms);
  };
  return {
    clock,
    random: () => (courses.getStore()?.random ?? outside)(),
    load: () => courses.getStore()?.load ?? idle,
    inItsTime(record, work) {
      const { tenant, id, at } = identityOf(record, beginning);
      const replayed = find(tenant, id);
      const random = splitmix64(seed ^ hashOf(tenant, id));
      const load = replayed === undefined ? idle : loadOf(replayed, options.saturation());
      return courses.run({ now: at, random, load }, work);
    },
    async arm(config, open) {
      if (!options.liveArms.has(config.name)) return loggedArm(config, options, goOn);
      const arm = await open();
      return { ...arm, answer: (request, signal, onText) => answerLive(arm, { request, signal, onText }, clock, goOn) };
    },
  };
}

function identityOf(record: RecordOf[TopicName], beginning: number): { tenant: string; id: string; at: number } {
  if ("plannedAt" in record)
    return { tenant: record.request.tenant, id: record.decision.requestId, at: record.plannedAt };
  if ("allow" in record) return { tenant: record.tenant, id: record.id ?? "", at: record.createdAt ?? beginning };
  throw new Error("a log replay has no such records: this is a bug");
}

const hashOf = (tenant: string, id: string): bigint =>
  createHash("sha256").update(requestKey(tenant, id)).digest().readBigUInt64LE();

/** As it was: the log has the penalties, and the router wants what leads to them. */
const loadOf = ({ load, saturation }: Replayed, bias: SaturationBias): Load => ({
  costlier: load,
  byArm: new Map(Object.entries(saturation).map(([arm, penalty]) => [arm, utilisationOf(penalty, bias)])),
});

function loggedArm(config: ArmConfig, { find, speed, modelOf }: WorldOptions, goOn: (ms: number) => void): Arm {
  const { name, concurrency } = config;
  const model = modelOf(config);
  return {
    ...{ name, model, concurrency },
    async answer({ tenant = "default", requestId }, signal, onText) {
      const known = find(tenant, requestId)?.answers.get(name);
      if (known === undefined || known.text === null) return notRecorded(name);
      const took = known.serviceMs ?? 0;
      if (took > 0 && Number.isFinite(speed)) await sleep(took / speed, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return cancelled;
      goOn(took);
      onText?.(known.text, 1);
      return answerOf({ ...known, text: known.text, model: known.model ?? model });
    },
    close: () => Promise.resolve(),
  };
}

const answerOf = (known: Omit<LoggedAnswer, "arm"> & { text: string; model: string }): ArmResult => ({
  kind: "answer",
  source: "replayed",
  text: known.text,
  finishReason: known.finishReason,
  model: known.model,
  usage: {
    ...NO_USAGE,
    ...{ prompt: known.promptTokens, completion: known.completionTokens },
    ...prefillOf(known),
  },
  cost: known.cost,
  attempts: 1,
  queueMs: 0,
  firstTokenMs: known.firstTokenMs,
});

export function prefillOf(known: Pick<LoggedAnswer, "promptTokens" | "prefilledTokens">) {
  const { promptTokens: prompt, prefilledTokens: prefilled = prompt } = known;
  return { prefilled, cached: Math.max(0, prompt - prefilled) };
}

const notRecorded = (arm: string): ArmFailure => ({
  ...{ kind: "failure", code: "not_recorded", attempts: 0, retriable: false },
  message: `The log holds no answer of arm "${arm}" to this request; --live-arms ${arm} would ask the model.`,
});
const cancelled: ArmFailure = {
  ...{ kind: "failure", code: "cancelled", attempts: 0, retriable: true },
  message: "The call was cancelled before the logged answer was due.",
};

interface Call {
  request: ArmRequest;
  signal: AbortSignal;
  onText: Parameters<Arm["answer"]>[2];
}

/** Its deadline is on our clock, and what it takes is time of the record. */
async function answerLive(
  arm: Arm,
  { request, signal, onText }: Call,
  clock: () => number,
  goOn: (ms: number) => void,
): Promise<ArmResult> {
  const began = performance.now();
  const deadline = Date.now() + (request.deadline - clock());
  const result = await arm.answer({ ...request, deadline }, signal, onText);
  goOn(performance.now() - began);
  return result;
}
