// Example replay runs on a real system. A dry run shows the requests without sending them, a run
// waits while the arms are busy, and a scheduled run is one run even if a process dies in the
// middle of it.
import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startExampleReplay } from "../../pipelines/replay/start.ts";
import { startStages, type RunningStages } from "../../pipelines/up.ts";
import { runCommand } from "../../cli/run.testing.ts";
import { createReferenceJudge, readReferences } from "../../operators/example-replay/judge.ts";
import type { ExampleReplayRun } from "../../pipelines/replay/replay.ts";
import { eventually, requestOf, startSystem, type TestSystem } from "../support/system.ts";
import { createWorkers, type Workers } from "../support/workers.ts";

const questions = ["show free disk space", "rename all pictures", "kill a process by name", "print the calendar"];
const poor = (question: string): string => `no idea how to ${question}`;
const good = (question: string): string => `the very command to ${question}`;

let system: TestSystem;
let folder: string;
let known: string;
let references: Map<string, string[]>;
let workers: Workers | undefined;
let generate: RunningStages;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-gain-"));
  const file = join(folder, "log.jsonl");
  known = join(folder, "references.jsonl");
  const lines = (of: (question: string) => object): string =>
    questions.map((request) => JSON.stringify({ request, ...of(request) })).join("\n");
  await writeFile(
    file,
    lines((question) => ({ responses: [poor(question), good(question)] })),
  );
  await writeFile(
    known,
    lines((question) => ({ response: good(question) })),
  );
  references = await readReferences(known);
  system = await startSystem(
    {
      // Few requests are a load for it.
      arms: [{ name: "large", type: "recorded", dispatch: "queued", file, cost: 1, latencyMs: 700, concurrency: 1 }],
      kafka: { partitions: 2 },
      curate: { everyMs: 300 },
      limits: { offPeakLoad: 1.5 },
    },
    { stages: ["plan", "record", "learn", "curate"] },
  );
  generate = await startStages(system.session, { stages: ["generate"] });
  const { kafka, codec, topic } = system.session;
  const producer = kafka.plainProducer();
  await producer.send(
    questions.map((question) => {
      const request = requestOf(question);
      const source = { arm: "large", model: "recorded", requestId: request.id };
      const observed = { tenant: "default", domain: null, request, text: poor(question), source, quality: 0.9 };
      const value = codec.encode("observations", { ...observed, createdAt: Date.now() });
      return { topic: topic("observations"), key: request.id, value };
    }),
  );
  await producer.close();
  await eventually("the examples", async () => {
    const rows = await query("SELECT 1 FROM examples FINAL WHERE NOT deleted");
    return rows.length === questions.length ? true : undefined;
  });
  for (const question of questions) await system.ask(question);
  await ranked();
});
afterAll(async () => {
  await workers?.stop();
  await generate.stop();
  await system.stop();
});

const query = <Row>(sql: string, parameters?: Record<string, unknown>): Promise<Row[]> =>
  system.session.clickhouse.query<Row>(sql, parameters);
const ranked = () =>
  eventually("the ranking", async () => {
    const rows = await query("SELECT 1 FROM example_gain WHERE gain > 0");
    return rows.length === questions.length ? true : undefined;
  });
const runOf = (change: Partial<ExampleReplayRun>): ExampleReplayRun => ({
  ...{ runId: "by-hand", judge: createReferenceJudge(references), top: 10, samples: 2 },
  budget: { tokens: 100_000, cost: Infinity },
  signal: new AbortController().signal,
  ...change,
});
const stateOf = async (run: string): Promise<string | undefined> =>
  (
    await query<{ state: string }>("SELECT state FROM example_replay_runs FINAL WHERE run_id = {run:String}", { run })
  )[0]?.state;

test("a dry run says what would be asked, and asks and writes nothing", async () => {
  const cwd = join(folder, "cli");
  await mkdir(cwd);
  await writeFile(join(cwd, "precedent.yaml"), JSON.stringify(system.config));
  const all = () => query("SELECT example_id, response, replays FROM examples FINAL ORDER BY example_id");
  const before = [await all(), await system.session.kafka.spans(system.session.topic("examples"))];
  const reported = await runCommand(cwd, ["examples", "replay", "run", "--dry-run", "--json"]);
  expect(reported.code).toBe(0);
  const agenda = JSON.parse(reported.out) as { items: object[]; left: number; cutOff: { from: string; gain: number } };
  expect(agenda.items).toHaveLength(questions.length);
  expect(agenda.items[0]).toMatchObject({ arm: "large", replays: 0, beyond: false });
  expect(agenda.cutOff.from).toBe("prior");
  expect(agenda.cutOff.gain).toBeGreaterThan(0);
  expect((await runCommand(cwd, ["examples", "replay", "run", "--dry-run", "--cut-off", "9"])).out).toContain(
    "0 examples would be asked again",
  );
  expect([await all(), await system.session.kafka.spans(system.session.topic("examples"))]).toEqual(before);
  expect(await query("SELECT 1 FROM example_replays UNION ALL SELECT 1 FROM example_replay_runs")).toEqual([]);
  const shown = await runCommand(cwd, ["examples", "replay", "show"]);
  expect(shown.note).toContain("curate.exampleReplay.schedule is not set");
});

test("a run waits while the arms are busy, ends where that lasts too long, and goes on when it is over", async () => {
  const { session } = system;
  // Three unanswered requests: a load of 3.
  await generate.stop();
  const late = questions.slice(0, 3).map((question) => requestOf(question));
  await system.produce(late);
  const ended = await startExampleReplay(session, runOf({ mostWaitMs: 1 }));
  expect(ended).toMatchObject({ tried: 0, ended: "load" });
  expect(await stateOf("by-hand")).toBe("load");
  const waits: boolean[] = [];
  const triedWhileBusy: number[] = [];
  let tried = 0;
  const gone = startExampleReplay(
    session,
    runOf({
      onReplayed: () => tried++,
      onWait: ({ waits: now, load }) => {
        waits.push(now);
        if (now) expect(load).toBeGreaterThan(1.5);
        else triedWhileBusy.push(tried);
      },
    }),
  );
  await eventually("the record of the wait", async () => ((await stateOf("by-hand")) === "waiting" ? true : undefined));
  expect(tried).toBe(0);
  generate = await startStages(session, { stages: ["generate"] });
  const summary = await gone;
  expect(summary).toMatchObject({ ended: "done", tried: questions.length, outcomes: { replaced: questions.length } });
  expect(summary.waitedMs).toBeGreaterThan(0);
  expect(waits.slice(0, 2)).toEqual([true, false]);
  // It began busy: nothing was asked before the first wait was over.
  expect(triedWhileBusy[0]).toBe(0);
  expect(await stateOf("by-hand")).toBe("done");
  await Promise.all(late.map(({ id }) => system.response(id)));
});

test("of two processes one runs what is due, and the other goes on with it when that is killed", async () => {
  for (const question of questions) await system.ask(question);
  await ranked();
  const now = new Date().toISOString().slice(11, 16);
  const { curate } = system.config;
  workers = createWorkers(
    {
      ...system.config,
      log: { level: "info" },
      curate: {
        ...curate,
        exampleReplay: {
          ...curate.exampleReplay,
          judge: `reference:${known}`,
          samples: 4,
          schedule: { times: [now], timeZone: "UTC" },
        },
      },
    },
    folder,
  );
  await Promise.all([workers.start("curate", "one"), workers.start("curate", "two")]);
  const runs = () =>
    query<{ run: string; state: string }>(
      "SELECT run_id AS run, state FROM example_replay_runs FINAL WHERE cause = 'schedule'",
    );
  const tried = () =>
    query<{ id: string }>("SELECT example_id AS id FROM example_replays WHERE startsWith(run_id, 'scheduled-')");
  await eventually("the first example of the run", async () => ((await tried()).length > 0 ? true : undefined));
  const busy: string[] = [];
  for (const instance of ["one", "two"])
    if ((await readFile(join(folder, `${instance}.log`), "utf8")).includes("a scheduled example replay run begins"))
      busy.push(instance);
  expect(busy).toHaveLength(1);
  await workers.kill(busy[0]!);
  await eventually(
    "the end of the run",
    async () => ((await runs()).some(({ state }) => state === "done" || state === "cut-off") ? true : undefined),
    120_000,
  );
  await eventually("its records", async () => ((await tried()).length >= questions.length ? true : undefined));
  const shown = await runCommand(join(folder, "cli"), ["examples", "replay", "show", "--json"]);
  const [newest] = shown.out.split("\n").map((line) => (line === "" ? {} : (JSON.parse(line) as object)));
  expect(newest).toMatchObject({ cause: "schedule", tried: questions.length });
  const ids = (await tried()).map(({ id }) => id);
  expect(new Set(ids).size).toBe(questions.length);
  expect(ids).toHaveLength(questions.length);
  // The time is still in its ten minutes, and is not run again.
  await sleep(3_000);
  expect(await runs()).toHaveLength(1);
});
