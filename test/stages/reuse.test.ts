// Reused answers on the real stack: off until verified answers have proved right, then given for
// free. Never for requests that want a fresh answer, never across tenants, and for no tenant by
// default. Switched off when wrong answers come into the pool, also for a process that starts
// later.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startStages, type RunningStages } from "../../pipelines/up.ts";
import { importPairs } from "../../cli/examples.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import { openEmbedder } from "../../pipelines/embedder.ts";
import type { Request, Response } from "../../schemas/types.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const objects = "files folders links sockets devices pipes archives images logs scripts tables backups".split(" ");
const known = objects.map((object) => `How do I list the ${object} of a project?`);
/** Examples of these are wrong. */
const poisoned = objects.map((object) => `How do I delete the ${object} of a project?`);
const answerTo = (question: string): string =>
  `${question.split(" ")[3]!} by ${question.split(" ").slice(4).join("-")}`;
const limit = 0.3;
const stages = ["plan", "generate", "record", "learn"] as const;

let folder: string;
let system: TestSystem;
let embedder: Embedder;
let again: RunningStages | undefined;

const put = async (tenant: string, pairs: readonly (readonly [string, string])[]): Promise<void> => {
  const file = join(folder, `${tenant}-${pairs[0]![0].length}.jsonl`);
  await writeFile(file, pairs.map(([request, response]) => JSON.stringify({ request, response })).join("\n"));
  await importPairs({ session: system.session, embedder, file, options: { tenant } });
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-reuse-"));
  const file = join(folder, "log.jsonl");
  const lines = [...known, ...poisoned].map((request) => JSON.stringify({ request, response: answerTo(request) }));
  await writeFile(file, lines.join("\n"));
  system = await startSystem(
    {
      learn: { everyMs: 200 },
      record: { batchMs: 100 },
      selection: { minimumSimilarity: 0 },
      arms: [
        { name: "model", type: "recorded", file, cost: 1, prices: { prompt: 1_000, completion: 2_000 } },
        { name: "reuse", type: "reuse", tenants: ["acme"], limit, verifyShare: 0.5 },
      ],
    },
    { stages },
  );
  const { session, config } = system;
  embedder = await openEmbedder(config, { log: session.log });
  for (const tenant of ["acme", "rival"])
    await put(
      tenant,
      known.map((question) => [question, answerTo(question)]),
    );
});
afterAll(async () => {
  await again?.stop();
  await embedder.close();
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

/** What costs nothing wins. */
const of = (tenant: string, more: Partial<Request> = {}): Partial<Request> => ({
  ...{ tenant, allow: { arms: null, maxCost: null, deadlineMs: 100_000, costWeight: 1_000 } },
  ...more,
});
const all = (questions: readonly string[], request: Partial<Request> = of("acme")): Promise<Response[]> =>
  Promise.all(questions.map((question) => system.ask(question, request)));
const decided = (id: string) =>
  system.eventually(`the decision on ${id}`, async () => {
    const [row] = await system.session.clickhouse.query<{
      state: string;
      bound: number;
      verifies: boolean;
      arms: string[];
    }>(
      `SELECT reuse_state AS state, reuse_bound AS bound, reuse_verifies AS verifies, arms.arm AS arms
       FROM decisions FINAL WHERE request_id = {id:String}`,
      { id },
    );
    return row;
  });

test("it is off until its answers are verified, and then gives them for nothing", async () => {
  // Until its example is in plan's pool, others are near misses.
  const first = await system.eventually("an answer that could be reused", async () => {
    const response = await system.ask(known[0]!, of("acme"));
    expect(response).toMatchObject({ status: "ok", source: "generated", arm: "model" });
    const found = await decided(response.requestId);
    return found.state === "" || found.state === "near_miss" ? undefined : found;
  });
  expect(first).toMatchObject({ state: "off", bound: 1, verifies: true, arms: ["model"] });

  const reused = await system.eventually("a reused answer", async () =>
    (await all(known)).find(({ source }) => source === "reuse"),
  );
  expect(reused).toMatchObject({
    ...{ status: "ok", arm: "reuse", model: "reuse/1", cost: 0, attempt: 0, duplicate: false },
    ...{ usage: { prompt: 0, completion: 0 }, exampleIds: [expect.any(String)] },
  });
  expect(known.map(answerTo)).toContain(reused.text);
  expect(reused.savedCost).toBeGreaterThan(0);
  const row = await decided(reused.requestId);
  expect(row).toMatchObject({ state: "on", verifies: false, arms: ["model", "reuse"] });
  expect(row.bound).toBeLessThanOrEqual(limit);

  const { clickhouse } = system.session;
  const [hit] = await clickhouse.query<{ example: string; saved: number }>(
    "SELECT example_id AS example, saved_cost AS saved FROM reuse_hits WHERE request_id = {id:String}",
    { id: reused.requestId },
  );
  expect(hit).toEqual({ example: reused.exampleIds[0], saved: reused.savedCost });
  const [savings] = await clickhouse.query<{ saved: number; cost: number }>(
    "SELECT saved, cost FROM savings WHERE request_id = {id:String}",
    { id: reused.requestId },
  );
  expect(savings!.cost).toBe(0);
  expect(savings!.saved).toBeGreaterThan(0);
  expect(
    await clickhouse.query("SELECT request_id FROM cache_hits WHERE request_id = {id:String}", {
      id: reused.requestId,
    }),
  ).toEqual([]);
  expect(await system.session.metrics.metrics()).toMatch(/precedent_reuse_domains\{state="on"\} 1/);
});

test("never for a fresh or private request, or another tenant, whatever lies in its pool", async () => {
  const privacy = { cache: true, share: true, fresh: false };
  for (const change of [{ fresh: true }, { cache: false }, { share: false }]) {
    const answers = await all(known, of("acme", { privacy: { ...privacy, ...change } }));
    expect(new Set(answers.map(({ source }) => source))).toEqual(new Set(["generated"]));
    expect((await decided(answers[0]!.requestId)).state).toBe("");
  }
  // rival has the same examples and is not named; other has none.
  for (const tenant of ["rival", "other"]) {
    const answers = await all(known, of(tenant));
    expect(new Set(answers.map(({ source }) => source))).toEqual(new Set(["generated"]));
    expect((await decided(answers[0]!.requestId)).state).toBe("");
  }
});

test("wrong answers in the pool switch it off, for good questions too, and for a process that starts later", async () => {
  await put(
    "acme",
    poisoned.map((question) => [question, "nothing of the kind, sorry"]),
  );
  const seen: Response[] = [];
  await system.eventually("the arm is off", async () => {
    const answers = await all(poisoned);
    seen.push(...answers);
    const { state } = await decided(answers[0]!.requestId);
    return state === "off" ? true : undefined;
  });
  expect(seen.some(({ source, text }) => source === "reuse" && text.startsWith("nothing"))).toBe(true);
  const later = await all([...poisoned, ...known]);
  expect(new Set(later.map(({ source }) => source))).toEqual(new Set(["generated"]));
  // It stays off while what it would have answered goes on to be wrong.
  for (let round = 0; round < 3; round++)
    expect((await all(poisoned)).some(({ source }) => source === "reuse")).toBe(false);
  // The bound alone may have switched it off; what is verified from then on raises the alarm.
  await system.eventually("an alarm", async () => {
    expect((await all(poisoned)).some(({ source }) => source === "reuse")).toBe(false);
    const [newest] = await system.session.clickhouse.query<{ alarms: number }>(
      "SELECT toUInt32(metrics['alarms']) AS alarms FROM policies FINAL WHERE name = 'reuse' ORDER BY version DESC LIMIT 1",
    );
    return newest!.alarms > 0 ? true : undefined;
  });

  await system.stages.stop();
  again = await startStages(system.session, { stages: [...stages] });
  const after = await all(poisoned);
  expect(new Set(after.map(({ source }) => source))).toEqual(new Set(["generated"]));
  expect((await decided(after[0]!.requestId)).state).toBe("off");
});
