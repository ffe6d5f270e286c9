// An example replay run on a real system: the ranking's top is asked again, better answers take the
// place of poorer ones, a stopped run goes on, the budget holds.
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startExampleReplay } from "../../pipelines/replay/start.ts";
import { readTable } from "../../runtime/table.ts";
import { createReferenceJudge, readReferences } from "../../operators/example-replay/judge.ts";
import type { Response } from "../../schemas/types.ts";
import type { ExampleReplayRun } from "../../pipelines/replay/replay.ts";
import { eventually, requestOf, startSystem, type TestSystem } from "../support/system.ts";

const questions = ["show free disk space", "rename all pictures", "kill a process by name", "print the calendar"];
const poor = (question: string): string => `no idea how to ${question}`;
const good = (question: string): string => `the very command to ${question}`;
// The last one has nothing better to say.
const answersTo = (question: string, index: number): string[] =>
  index === questions.length - 1 ? [poor(question)] : [poor(question), good(question)];

let system: TestSystem;
let references: Map<string, string[]>;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "precedent-replay-"));
  const file = join(folder, "log.jsonl");
  const known = join(folder, "references.jsonl");
  const lines = (of: (question: string, index: number) => object): string =>
    questions.map((request, index) => JSON.stringify({ request, ...of(request, index) })).join("\n");
  await writeFile(
    file,
    lines((question, index) => ({ responses: answersTo(question, index) })),
  );
  await writeFile(
    known,
    lines((question) => ({ response: good(question) })),
  );
  references = await readReferences(known);
  system = await startSystem({
    arms: [{ name: "large", type: "recorded", file, cost: 1, prices: { prompt: 1, completion: 1 } }],
    kafka: { partitions: 2 },
    curate: { everyMs: 300 },
  });
  const { kafka, codec, topic } = system.session;
  const producer = kafka.plainProducer();
  await producer.send(
    questions.map((question) => {
      const request = requestOf(question);
      const source = { arm: "large", model: "recorded", requestId: request.id };
      const record = {
        tenant: "default",
        domain: null,
        request,
        text: poor(question),
        source,
        quality: 0.9,
        createdAt: Date.now(),
      };
      return { topic: topic("observations"), key: request.id, value: codec.encode("observations", record) };
    }),
  );
  await producer.close();
  await eventually("the examples", async () => ((await living()).length === questions.length ? true : undefined));
  // Uses: the more, the higher in the ranking.
  for (const [index, question] of questions.entries()) for (let use = 0; use <= index; use++) await ask(question);
  await ranked();
});
afterAll(() => system.stop());

let asked = 0;
const ask = (question: string): Promise<Response> => {
  asked++;
  return system.ask(question);
};
/** Every living example was used, and every use is recorded: before, the order is another one. */
const ranked = () =>
  eventually("the ranking", async () => {
    const { clickhouse } = system.session;
    const outcomes = await clickhouse.query("SELECT 1 FROM outcomes WHERE decided AND status = 'ok'");
    const rows = await clickhouse.query("SELECT 1 FROM example_gain WHERE gain > 0");
    return outcomes.length >= asked && rows.length === questions.length ? true : undefined;
  });
const living = () =>
  system.session.clickhouse.query<{ request: string; response: string; replays: number; quality: number }>(
    "SELECT request, response, replays, quality FROM examples FINAL WHERE NOT deleted ORDER BY request",
  );
const recorded = (run: string, count: number) =>
  eventually("the records of the run", async () => {
    const rows = await system.session.clickhouse.query<{ id: string; outcome: string; tokens: number }>(
      "SELECT example_id AS id, outcome, tokens FROM example_replays FINAL WHERE run_id = {run:String} ORDER BY created_at",
      { run },
    );
    return rows.length >= count ? rows : undefined;
  });
const runOf = (change: Partial<ExampleReplayRun>): ExampleReplayRun => ({
  runId: "first",
  judge: createReferenceJudge(references),
  top: 10,
  samples: 2,
  budget: { tokens: 100_000, cost: Infinity },
  signal: new AbortController().signal,
  ...change,
});

test("a run ends with its budget, goes on under its id, and betters what can be bettered", async () => {
  const stopped = await startExampleReplay(system.session, runOf({ budget: { tokens: 1, cost: Infinity } }));
  expect(stopped).toMatchObject({ tried: 1, ended: "budget" });
  await recorded("first", 1);
  const order: string[] = [];
  const finished = await startExampleReplay(
    system.session,
    runOf({ onReplayed: ({ example }) => void order.push(example.request) }),
  );
  expect(finished).toMatchObject({ tried: questions.length, ended: "done" });
  // The most used was tried by the first part, the others follow in the order of their gain.
  expect(order).toEqual([...questions].reverse().slice(1));
  expect(finished.tokens).toBeGreaterThan(stopped.tokens);
  const records = await recorded("first", questions.length);
  expect(new Set(records.map(({ id }) => id)).size).toBe(questions.length);
  expect(records.map(({ outcome }) => outcome)).toEqual(["same", "replaced", "replaced", "replaced"]);

  // What was replaced knows what took its place, and what was predicted and spent.
  const links = await system.session.clickhouse.query<{
    request: string;
    gain: number;
    spent: number;
    samples: number;
  }>(
    `SELECT example.request AS request, gain, relative_cost AS spent, samples FROM example_replays AS replay FINAL
     INNER JOIN (SELECT * FROM examples FINAL WHERE NOT deleted) AS example ON example.example_id = replay.new_example_id`,
  );
  expect(links.map(({ request }) => request).sort()).toEqual([...questions].slice(0, -1).sort());
  for (const link of links) {
    expect(link.gain).toBeGreaterThan(0);
    expect(link.spent).toBeGreaterThan(0);
    expect(link.samples).toBe(2);
  }

  const expected = questions
    .map((request, index) => {
      const bettered = index < questions.length - 1;
      return { request, response: bettered ? good(request) : poor(request), replays: 1, quality: bettered ? 1 : 0.9 };
    })
    .sort((a, b) => (a.request < b.request ? -1 : 1));
  await eventually("the bettered examples", async () => {
    const now = await living();
    return JSON.stringify(now) === JSON.stringify(expected) ? now : undefined;
  });
  const [first = ""] = questions;
  const shown = await eventually("the better answer in a prompt", async () => {
    const response = await ask(first);
    const rows = await system.session.clickhouse.query<{ response: string }>(
      "SELECT response FROM examples FINAL WHERE NOT deleted AND request = {first:String} AND has({ids:Array(String)}, example_id)",
      { first, ids: response.exampleIds },
    );
    return rows[0]?.response;
  });
  expect(shown).toBe(good(first));
});

test("a better answer is never given up, and a stopped run says so", async () => {
  await startExampleReplay(system.session, runOf({ runId: "second" }));
  expect((await living()).filter(({ response }) => response.startsWith("the very command"))).toHaveLength(3);
  for (const question of questions) await ask(question);
  await ranked();
  const stop = new AbortController();
  const interrupted = startExampleReplay(
    system.session,
    runOf({ runId: "third", signal: stop.signal, onReplayed: () => stop.abort(new Error("enough")) }),
  );
  await expect(interrupted).resolves.toMatchObject({ ended: "interrupted" });
});

test("what is below the cut-off is left, but one to learn from", async () => {
  for (const question of questions) await ask(question);
  await ranked();
  const expensive = await startExampleReplay(system.session, runOf({ runId: "cut", cutOff: 1_000 }));
  expect(expensive).toMatchObject({ tried: 0, ended: "cut-off", cutOff: { gain: 1_000, from: "given" } });
  // So many answers asked for that no gain here promises as much.
  const learnt = await startExampleReplay(
    system.session,
    runOf({ runId: "prior", samples: 5_000, budget: { tokens: 1, cost: 1 } }),
  );
  expect(learnt.cutOff.from).toBe("prior");
  expect(learnt).toMatchObject({ tried: 1, ended: "cut-off" });
});

test("an example is replayed five times, over all runs, and not again when it comes back", async () => {
  const request = questions.at(-1)!;
  const attempts = () =>
    system.session.clickhouse.query<{ run: string; attempt: number }>(
      `SELECT run_id AS run, attempt FROM example_replays FINAL
       WHERE example_id IN (SELECT example_id FROM examples FINAL WHERE request = {request:String}) ORDER BY attempt`,
      { request },
    );
  const runs = async (id: string): Promise<void> => {
    for (let run = 1; run <= 5; run++)
      await startExampleReplay(system.session, runOf({ runId: `${id}${run}`, cutOff: 0 }));
  };
  await runs("again");
  expect((await attempts()).map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5]);
  // Imported anew it has the same id, and a count of its own.
  const { kafka, codec, topic, log } = system.session;
  const stored = await readTable({ kafka, codec, topic: topic("examples"), record: "examples", log });
  const example = [...stored.values()].find((one) => one.request === request);
  expect(example?.replays).toBe(5);
  const producer = kafka.plainProducer();
  const value = codec.encode("examples", { ...example!, replays: 0 });
  await producer.send([{ topic: topic("examples"), key: `${example!.domain}/${example!.id}`, value }]);
  await producer.close();
  await eventually("the example that came back", async () =>
    (await living()).find((one) => one.request === request)?.replays === 0 ? true : undefined,
  );
  await startExampleReplay(system.session, runOf({ runId: "sixth", cutOff: 0 }));
  expect(await attempts()).toHaveLength(5);
});
