// precedent ask "…": produces a request as any client, prints its response and decision.
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { v7 as uuid } from "uuid";
import { plainRequest } from "../schemas/plain-request.ts";
import type { RecordOf } from "../schemas/records.ts";
import type { Decision, Request, Response } from "../schemas/types.ts";
import { withTimeout } from "../runtime/with-timeout.ts";
import { runningSystems } from "../stack/running.ts";
import { describeAnswer, type ExampleTexts } from "./describe-answer.ts";
import { CommandError, type Io } from "./io.ts";
import { parseDuration, parseNames } from "./options.ts";
import type { Session } from "../pipelines/session.ts";
import { groupName } from "../runtime/running-stage.ts";
import { withKafka } from "./with-session.ts";

interface Options {
  tenant: string;
  domain?: string;
  arm?: string[];
  mayAsk?: boolean;
  compare?: boolean;
  timeout: number;
  json?: boolean;
}

export interface Answered {
  response: Response;
  /** Null where none was made: a repeat of an id, a refusal. */
  decision: Decision | null;
  /** The alternative arm's answer; null where it did not come in time. Absent: there is none. */
  alternative?: Response | null;
}

export function addAsk(program: Command, io: Io): void {
  program
    .command("ask")
    .description("send a request and print its response and its decision (the stages must run: precedent up)")
    .argument("<question>", "what the user says")
    .option("-t, --tenant <name>", "owner of the request", "default")
    .option("-d, --domain <name>", "sharing domain inside the tenant")
    .option("-a, --arm <names>", "only these arms may answer, separated by commas", parseNames())
    .option("--may-ask", "feedback may be asked for: the answer says whether it is")
    .option("--compare", "an alternative arm may answer, too, where the arms are nearly even; goes with --may-ask")
    .option("--timeout <time>", "how long to wait: 500ms, 90s, 2m", parseDuration, 120_000)
    .option("--json", "response and decision as JSON")
    .action(async (question: string, options: Options, command: Command) => {
      await withKafka(command, io, async (session) => {
        await refuseIdle(session, io);
        const answered = await ask(session, requestOf(question, options), options.timeout, io.signal);
        if (options.json === true) io.out(`${JSON.stringify(answered, null, 2)}\n`);
        else io.out(describeAnswer({ ...answered, texts: await textsOf(session, answered.decision) }));
        const { status, error } = answered.response;
        if (status !== "ok") throw new CommandError(`${status}: ${error?.code ?? "unknown"}`);
      });
    });
}

/** Throws at once if no process runs the stage plan, and none is starting. */
async function refuseIdle({ kafka, config, connections }: Session, io: Io): Promise<void> {
  const systems = runningSystems(config.stack.folder);
  const members = await kafka.members(groupName(config.kafka.prefix, "plan"));
  // A broker counts killed members until their session ends; what uses the embedded one is here.
  if (members > 0 && (connections.stack === undefined || systems.length > 0)) return;
  if (systems.some(({ ready, stages }) => !ready && stages.includes("plan"))) {
    io.note("the system is being started: waiting for it\n");
    return;
  }
  throw new CommandError("no process runs the stage plan, which answers requests: start one with precedent up");
}

/** Request and response of the shown examples, by id; unknown ones are left out. */
async function textsOf({ clickhouse }: Session, decision: Decision | null): Promise<ExampleTexts> {
  const ids = (decision?.arms.find(({ arm }) => arm === decision.arm)?.examples ?? []).map(({ id }) => id);
  const known = clickhouse
    .query<{ id: string; request: string; response: string }>(
      "SELECT example_id AS id, request, response FROM examples FINAL WHERE example_id IN {ids:Array(String)}",
      { ids },
    )
    .catch(() => []);
  const rows = ids.length === 0 ? [] : await withTimeout(textsWaitMs, known);
  return new Map((rows ?? []).map(({ id, ...texts }) => [id, texts]));
}
/** Texts only explain: without ClickHouse they are left out after this time. */
const textsWaitMs = 2_000;

export function requestOf(
  question: string,
  { tenant, domain, arm, timeout, mayAsk, compare }: Omit<Options, "json">,
): Request & { id: string } {
  return plainRequest(question, {
    id: uuid(),
    tenant,
    // Tables write it with the tenant.
    domain: domain?.startsWith(`${tenant}/`) === true ? domain.slice(tenant.length + 1) : (domain ?? null),
    allow: { arms: arm ?? null, maxCost: null, deadlineMs: timeout, costWeight: null },
    mayAsk: mayAsk === true || compare === true,
    mayCompare: compare === true,
    metadata: { client: "precedent ask" },
    createdAt: Date.now(),
  });
}

/** A decision is committed before its response, but read from another topic. */
const decisionWaitMs = 3_000;

async function ask(
  { kafka, codec, config }: Session,
  request: Request & { id: string },
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Answered> {
  const { prefix } = config.kafka;
  const responses = promised<Response>();
  const decisions = promised<Decision>();
  const alternative = promised<Response>();
  const listen = <N extends "responses" | "decisions" | "alternative-answers">(
    topic: N,
    found: (record: RecordOf[N]) => void,
  ) =>
    kafka.tailTopic(`${prefix}${topic}`, ({ value }) => {
      if (value === null) return;
      void codec.decode(topic, value).then((decoded) => {
        if (decoded.ok && decoded.value.requestId === request.id) found(decoded.value);
      }, responses.reject);
    });
  const listened = await Promise.allSettled([
    listen("responses", responses.resolve),
    listen("decisions", decisions.resolve),
    ...(request.mayCompare ? [listen("alternative-answers", alternative.resolve)] : []),
  ]);
  const tails = listened.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  const producer = kafka.plainProducer();
  try {
    for (const one of listened) if (one.status === "rejected") throw one.reason;
    await producer.send([{ topic: `${prefix}requests`, key: request.id, value: codec.encode("requests", request) }]);
    const response = await within(responses.promise, timeoutMs, signal);
    if (response === null) {
      throw new CommandError(`no response to ${request.id} within ${timeoutMs} ms: do the stages run (precedent up)?`);
    }
    const decided = response.source === "none" ? 200 : decisionWaitMs;
    const decision = await within(decisions.promise, decided, signal);
    if (response.alternative === null) return { response, decision };
    return { response, decision, alternative: await within(alternative.promise, timeoutMs, signal) };
  } finally {
    await Promise.allSettled([producer.close(), ...tails.map((tail) => tail.stop())]);
  }
}

function promised<T>(): { promise: Promise<T>; resolve: (value: T) => void; reject: (cause: unknown) => void } {
  let resolve: (value: T) => void = () => undefined;
  let reject: (cause: unknown) => void = () => undefined;
  const promise = new Promise<T>((settle, fail) => {
    resolve = settle;
    reject = fail;
  });
  // It may fail when no caller awaits it any more.
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}

/** The promise's value, or null when the time is over; rejects when the signal is aborted. */
const within = <T>(promise: Promise<T>, ms: number, signal: AbortSignal): Promise<T | null> =>
  Promise.race([promise, sleep(ms, null, { signal, ref: false })]);
