// Inline arms on the real stack: plan calls them itself. Every request is answered once, with one
// decision, one response and nothing in a work topic, whatever becomes of the call: the arm fails,
// the deadline passes, the plan process is killed in the middle of it. A slow arm holds up neither
// another arm nor another tenant. Verified by what is answered before what, never by the clock.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { armSchema } from "../../config/schema.ts";
import type { InlineCalls, Request } from "../../schemas/types.ts";
import { follow } from "../support/follow.ts";
import { createOracle, notOnce } from "../support/oracle.ts";
import { requestOf, startSystem, type TestSystem } from "../support/system.ts";
import { createWorkers, type Workers } from "../support/workers.ts";

const inFlight = 16;
const arms = ["fast", "other", "slow"];
let folder: string;
let endpoint: Server;
/** Calls of the slow arm that wait for the test to answer them, by their question. */
const open = new Map<string, ServerResponse[]>();
const callsOf = (question: string): ServerResponse[] => open.get(question) ?? [];
const opened = (): number => [...open.values()].flat().length;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-inline-"));
  const lines = Array.from({ length: 40 }, (_, i) => ({ request: `question ${i}`, response: `answer ${i}` }));
  await writeFile(join(folder, "log.jsonl"), lines.map((line) => JSON.stringify(line)).join("\n"));
  endpoint = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += String(chunk)));
    request.on("end", () => {
      const { messages } = JSON.parse(body) as { messages: { content: string }[] };
      const question = messages.at(-1)?.content ?? "";
      if (question === "fail") response.writeHead(500).end();
      else open.set(question, [...callsOf(question), response]);
    });
  });
  await new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  endpoint.closeAllConnections();
  endpoint.close();
  await rm(folder, { recursive: true, force: true });
});

const armsOf = (dispatch: Record<string, string> = {}) =>
  arms.map((name) => ({
    ...{ name, dispatch: dispatch[name] ?? "inline" },
    ...(name === "slow"
      ? {
          ...{ type: "openai", baseUrl: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1` },
          ...{ model: "fake", stream: false, retries: 0, timeoutMs: 120_000, concurrency: 64, cost: 1 },
        }
      : {
          type: "recorded",
          file: join(folder, "log.jsonl"),
          cost: 0.1,
          latencySpreadMs: name === "other" ? 400 : 0,
          concurrency: 256,
        }),
  }));
const on = (arm: string, deadlineMs = 100_000): Partial<Request> => ({
  allow: { arms: [arm], maxCost: null, deadlineMs, costWeight: null },
});
function answer(question: string, text: string): void {
  const choices = [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }];
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  const body = JSON.stringify({ id: "x", object: "chat.completion", model: "fake", choices, usage });
  for (const response of callsOf(question)) response.setHeader("content-type", "application/json").end(body);
  open.delete(question);
}
const until = (system: TestSystem, what: string, wanted: () => boolean): Promise<boolean> =>
  system.eventually(what, () => Promise.resolve(wanted() ? true : undefined), 60_000);

interface Rows {
  decisions: number;
  responses: number;
  firstResponses: number;
}
async function rowsOf({ session }: TestSystem, where: string): Promise<Rows | undefined> {
  const [rows] = await session.clickhouse.query<Record<string, number | string>>(
    `SELECT (SELECT count() FROM decisions FINAL WHERE ${where}) AS decisions,
            (SELECT count() FROM responses FINAL WHERE ${where}) AS responses,
            (SELECT count() FROM responses FINAL WHERE ${where} AND NOT duplicate) AS firstResponses`,
  );
  if (rows === undefined) return undefined;
  const { decisions, responses, firstResponses } = rows;
  return { decisions: Number(decisions), responses: Number(responses), firstResponses: Number(firstResponses) };
}
/** As soon as as many as expected are there: topics are recorded apart from one another. */
const expectRows = (system: TestSystem, where: string, expected: Rows): Promise<Rows> =>
  system.eventually(`the rows where ${where}`, async () => {
    const rows = await rowsOf(system, where);
    const there =
      rows !== undefined && (Object.keys(expected) as (keyof Rows)[]).every((key) => rows[key] >= expected[key]);
    return there ? rows : undefined;
  });
/** Everything that was ever written to the work topics, transaction markers included. */
async function workOf({ session }: TestSystem): Promise<number> {
  const ends = await Promise.all(arms.map((arm) => session.kafka.ends(session.topic("work", arm))));
  return ends.flat().reduce((sum, { high }) => sum + high, 0);
}

describe("all arms inline, in one process", () => {
  let system: TestSystem;
  beforeAll(async () => {
    system = await startSystem({ limits: { inFlight }, arms: armsOf() }, { stages: ["plan", "generate", "record"] });
  });
  afterAll(() => system.stop());

  test("no stage generate runs, and every request is answered once, with one decision and no work", async () => {
    const { generate, ...stages } = system.stages.reports();
    expect(Object.keys(stages).sort()).toEqual(["plan", "record"]);
    expect(generate).toEqual({ joined: true, partitions: 0, inFlight: 0 });
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => system.ask(`question ${i}`, on("fast"))));
    expect(answers.map(({ text, arm, source }) => [text, arm, source])).toEqual(
      answers.map((_, i) => [`answer ${i}`, "fast", "generated"]),
    );
    // They wait for no topic on their way to the arm.
    const sum = (of: (timings: (typeof answers)[number]["timings"]) => number): number =>
      answers.reduce((all, { timings }) => all + of(timings), 0);
    expect(sum(({ queue }) => queue)).toBeLessThan(sum(({ total }) => total) / 2);
    expect(
      await expectRows(system, "tenant = 'default'", { decisions: 40, responses: 40, firstResponses: 40 }),
    ).toEqual({
      ...{ decisions: 40, responses: 40, firstResponses: 40 },
    });
    expect(await workOf(system)).toBe(0);
    const [timed] = await system.session.clickhouse.query<{ calls: number | string }>(
      "SELECT countIf(has(timings.operator, 'call')) AS calls FROM decisions FINAL",
    );
    expect(Number(timed?.calls)).toBe(40);
  });

  test("a repeated id gets a copy; the arm is not called again", async () => {
    const request = requestOf("think once", { id: "again", tenant: "repeats", ...on("slow") });
    await system.produce([request]);
    await until(system, "the call", () => callsOf("think once").length === 1);
    await system.produce([request, request]);
    answer("think once", "thought");
    await until(system, "three answers", () => system.responses.get("again")?.length === 3);
    const answers = system.responses.get("again") ?? [];
    expect(answers.map(({ text, duplicate }) => [text, duplicate])).toEqual([
      ["thought", false],
      ["thought", true],
      ["thought", true],
    ]);
    expect(callsOf("think once")).toEqual([]);
    const rows = { decisions: 1, responses: 2, firstResponses: 1 }; // copies are the same row
    expect(await expectRows(system, "tenant = 'repeats'", rows)).toEqual(rows);
  });

  test("an arm that fails and a deadline that passes end as they do for queued arms, decision included", async () => {
    const failed = await system.ask("fail", { tenant: "failures", ...on("slow") });
    expect(failed).toMatchObject({
      status: "failed",
      arm: "slow",
      attempt: 1,
      error: { code: "endpoint_unavailable" },
    });
    const late = await system.ask("too slow", { tenant: "failures", ...on("slow", 1_000) });
    expect(late).toMatchObject({ status: "refused", arm: "slow", error: { code: "deadline_exceeded" } });
    expect(late.timings.total).toBeGreaterThanOrEqual(1_000);
    const rows = { decisions: 2, responses: 2, firstResponses: 2 };
    expect(await expectRows(system, "tenant = 'failures'", rows)).toEqual(rows);
    open.delete("too slow");
  });

  test("three times as many calls of a slow arm as the stage has slots: other calls go on, and the load is published", async () => {
    const reported = new Map<string, InlineCalls>();
    const tail = await follow(
      system.session,
      "inline-calls",
      (row) => void reported.set(`${row.arm}/${row.instance}`, row),
    );
    const held = Array.from({ length: 3 * inFlight }, (_, i) =>
      requestOf("hold", { id: `held-${i}`, tenant: "patient", ...on("slow") }),
    );
    await system.produce(held);
    await until(system, "all calls under way", () => callsOf("hold").length === held.length);
    // Another arm, for the same tenant; the same arm, for another tenant.
    expect(await system.ask("question 1", { tenant: "patient", ...on("fast") })).toMatchObject({ text: "answer 1" });
    const other = system.ask("hold no longer", { tenant: "hasty", ...on("slow") });
    await until(system, "the other tenant's call", () => callsOf("hold no longer").length === 1);
    answer("hold no longer", "at once");
    expect(await other).toMatchObject({ status: "ok", text: "at once" });
    expect(held.some(({ id }) => system.responses.has(id))).toBe(false);

    await until(system, "the published calls", () => [...reported.values()].some(({ calls }) => calls === held.length));
    expect([...reported.values()].map(({ arm }) => arm)).toEqual(["slow"]);
    await system.eventually("the utilisation", async () => {
      const text = await system.session.metrics.metrics();
      const [, value] = /precedent_arm_utilisation\{arm="slow"\} (\S+)/.exec(text) ?? [];
      return Number(value) > 0.01 && text.includes(`precedent_in_flight{stage="generate.slow"} ${held.length}`)
        ? true
        : undefined;
    });
    answer("hold", "held");
    await until(system, "all answers", () => held.every(({ id }) => system.responses.has(id)));
    await until(system, "the calls to be over", () => [...reported.values()].every(({ calls }) => calls === 0));
    await tail.stop();
    const rows = { decisions: held.length + 1, responses: held.length + 1, firstResponses: held.length + 1 };
    expect(await expectRows(system, "tenant = 'patient'", rows)).toEqual(rows);
    expect(await workOf(system)).toBe(0);
  });

  test("an arm changes from inline to queued and back while it is called; what was queued is finished", async () => {
    const configured = (dispatch?: Record<string, string>) => armsOf(dispatch).map((arm) => armSchema.parse(arm));
    const inline = system.ask("from plan", on("slow"));
    await until(system, "the inline call", () => callsOf("from plan").length === 1);
    await system.stages.replaceArms(configured({ slow: "queued" }));
    expect(Object.keys(system.stages.reports())).toContain("generate.slow");
    const queued = system.ask("from generate", on("slow"));
    await until(system, "the queued call", () => callsOf("from generate").length === 1);
    expect(await workOf(system)).toBeGreaterThan(0);
    await system.stages.replaceArms(configured());
    const again = system.ask("from plan again", on("slow"));
    await until(system, "the second inline call", () => callsOf("from plan again").length === 1);
    for (const question of ["from plan", "from generate", "from plan again"]) answer(question, `re: ${question}`);
    expect((await Promise.all([inline, queued, again])).map(({ text }) => text)).toEqual([
      "re: from plan",
      "re: from generate",
      "re: from plan again",
    ]);
    await until(system, "the stage to end", () => !("generate.slow" in system.stages.reports()));
  });
});

describe("plan as a process of its own", () => {
  let system: TestSystem;
  let workers: Workers;
  beforeAll(async () => {
    system = await startSystem({ arms: armsOf() }, { stages: ["record"] });
    workers = createWorkers({ ...system.config, log: { level: "warn" } }, system.config.stack.folder);
    await workers.start("plan", "plan-a");
  });
  afterAll(async () => {
    await workers.stop();
    await system.stop();
  });

  test("killed in the middle of its calls: they are made again, each answer stands once", async () => {
    const ids = Array.from({ length: 8 }, (_, i) => `killed-${i}`);
    await system.produce(ids.map((id) => requestOf("die now", { id, ...on("slow") })));
    await until(system, "the calls", () => callsOf("die now").length === ids.length);
    const lost = callsOf("die now");
    open.delete("die now");
    await workers.kill("plan-a");
    expect(lost).toHaveLength(ids.length);
    await workers.start("plan", "plan-a");
    await until(system, "the calls made again", () => callsOf("die now").length === ids.length);
    answer("die now", "survived");
    await until(system, "all answers", () => ids.every((id) => system.responses.has(id)));
    for (const id of ids)
      expect(system.responses.get(id)).toMatchObject([{ status: "ok", text: "survived", duplicate: false }]);
    const rows = { decisions: ids.length, responses: ids.length, firstResponses: ids.length };
    expect(await expectRows(system, "startsWith(request_id, 'killed-')", rows)).toEqual(rows);
    expect(await workOf(system)).toBe(0);
  });

  test("asked to end, it finishes the calls that are under way", async () => {
    const asked = system.ask("finish first", on("slow"));
    await until(system, "the call", () => callsOf("finish first").length === 1);
    const ended = workers.terminate("plan-a");
    setTimeout(() => answer("finish first", "finished"), 1_000);
    expect(await asked).toMatchObject({ status: "ok", text: "finished" });
    expect(await ended).toBe(0);
    expect(opened()).toBe(0);
  });

  test("one of two frozen past its session, under load: its calls are made by the other, what it thaws to say is refused", async () => {
    await Promise.all(["plan-a", "plan-b"].map((instance) => workers.start("plan", instance)));
    const oracle = await createOracle({
      ...{ session: system.session, arms, prefix: "load", questionOf: (i) => `question ${i % 40}` },
      more: () => on("other"),
      keepDatabase: true,
    });
    const issued = oracle.issue(250, 25);
    await sleep(1_500);
    workers.freeze("plan-b");
    await sleep(system.config.kafka.sessionTimeoutMs + 1_500);
    workers.thaw("plan-b");
    await issued;
    await oracle.allAnswered(30_000);
    await oracle.drained(30_000);
    const { topic } = system.session;
    const once = { lost: [], twice: [] };
    for (const name of [topic("responses"), topic("decisions")])
      expect(notOnce(oracle.issued, await oracle.recordsOf(name)), name).toEqual(once);
    const n = oracle.issued.length;
    const rows = { decisions: n, responses: n, firstResponses: n };
    expect(await expectRows(system, "startsWith(request_id, 'load-') AND tenant = 'default'", rows)).toEqual(rows);
    expect(oracle.offsets().backwards).toEqual([]);
    expect(await workOf(system)).toBe(0);
    await oracle.stop();
  });
});
