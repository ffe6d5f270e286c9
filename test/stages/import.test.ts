// The log of another system on the real stack: what is imported stands in the tables and views as
// our own rows do, once, however often and from wherever it is imported; and the policy that learn
// makes of it is the one that is fitted to the same rows in memory.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { emptyStatistics, observe, solvePosterior, constantPrior } from "../../algorithms/routing/bandit.ts";
import { createFeatures, FEATURE_COUNT } from "../../algorithms/routing/features.ts";
import { importLog, type LogImport } from "../../cli/import.ts";
import { embeddingModelFolder } from "../../config/assets.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import { createOnnxEmbedder } from "../../connections/embedder/onnx.ts";
import { decodeRouterPolicy } from "../../state/policies/router.ts";
import { policyHistory } from "../../state/policies/history.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const hour = Date.UTC(2026, 9, 20, 12);
const rows = Array.from({ length: 60 }, (_, i) => ({
  id: `old-${i}`,
  time: new Date(hour + 1_000 * i).toISOString(),
  tenant: i % 3 === 0 ? "acme" : "rival",
  domain: "shell",
  request: `how do I list ${i} files of ${["a folder", "an archive", "a device"][i % 3]!}?`,
  arm: i % 2 === 0 ? "cheap-model" : "large",
  answer: `answer ${i}`,
  reward: i % 2 === 0 ? (i % 5) / 10 : 0.9,
  propensity: i % 2 === 0 ? 0.7 : 0.3,
  ...{ prompt_tokens: 10 + i, completion_tokens: 3, cost: 0.001 * i, total_ms: 40 },
}));

let folder: string;
let file: string;
let system: TestSystem;
let embedder: Embedder;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-import-"));
  file = join(folder, "log.jsonl");
  await writeFile(file, rows.map((row) => JSON.stringify(row)).join("\n"));
  const log = join(folder, "answers.jsonl");
  await writeFile(log, JSON.stringify({ request: "hello", response: "hi" }));
  system = await startSystem(
    {
      learn: { everyMs: 300 },
      routing: { variances: "fixed" },
      clickhouse: { ttlDays: 3_650 },
      arms: [
        { name: "small", type: "recorded", file: log, cost: 0.1 },
        { name: "large", type: "recorded", file: log, cost: 1 },
      ],
    },
    { stages: ["plan", "generate", "record", "learn"] },
  );
  const { session, config } = system;
  embedder = await createOnnxEmbedder({ ...config.embedder, folder: embeddingModelFolder(), log: session.log });
});
afterAll(async () => {
  await embedder.close();
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

const bring = (more: Partial<LogImport> = {}) =>
  importLog({ session: system.session, embedder, file, options: { arms: "small=cheap-model" }, ...more });
const counts = async () => {
  const [row] = await system.session.clickhouse.query<Record<string, number | string>>(
    `SELECT (SELECT count() FROM requests FINAL WHERE request_id LIKE 'old-%') AS requests,
            (SELECT count() FROM decisions FINAL WHERE source = 'imported') AS decisions,
            (SELECT count() FROM responses FINAL WHERE source = 'imported') AS responses,
            (SELECT count() FROM feedback FINAL WHERE request_id LIKE 'old-%') AS feedback,
            (SELECT count() FROM rewards FINAL WHERE request_id LIKE 'old-%' AND weight > 0) AS rewards`,
  );
  return Object.fromEntries(Object.entries(row!).map(([name, value]) => [name, Number(value)]));
};
const whole = { requests: 60, decisions: 60, responses: 60, feedback: 60 };

test("an import that ends in the middle goes on, and one that is done again adds nothing", async () => {
  // Killed behind the decisions of its only batch: feedback is missing, and what says it is done.
  const { clickhouse } = system.session;
  const dying = {
    ...clickhouse,
    query: clickhouse.query.bind(clickhouse),
    insert: (table: string, some: readonly object[]) =>
      table === "feedback" ? Promise.reject(new Error("killed")) : clickhouse.insert(table, some),
  };
  const session = { ...system.session, clickhouse: dying as never };
  await expect(bring({ session })).rejects.toThrow("killed");
  expect(await counts()).toEqual({ ...whole, feedback: 0, rewards: 0 });
  expect(await bring()).toEqual({ requests: 60, answers: 60, rewards: 60, skipped: 0 });
  await system.eventually("the rewards", async () => ((await counts())["rewards"] === 60 ? true : undefined));
  expect(await bring()).toEqual({ requests: 0, answers: 0, rewards: 0, skipped: 60 });
  expect(await counts()).toEqual({ ...whole, rewards: 60 });
});

test("the views show the rows as they were", async () => {
  const [row] = await system.session.clickhouse.query<Record<string, unknown>>(
    `SELECT tenant, domain, question, decided_arm, arm, model, probability, text, cost, prompt_tokens, total_ms, reward,
            source, toUnixTimestamp64Milli(created_at) AS at FROM outcomes WHERE request_id = 'old-2'`,
  );
  expect({ ...row, at: Number(row!["at"]) }).toEqual({
    ...{ tenant: "rival", domain: "rival/shell", question: rows[2]!.request, decided_arm: "small", arm: "small" },
    ...{ model: "recorded", probability: 0.7, text: "answer 2", cost: 0.002, prompt_tokens: 12, total_ms: 40 },
    ...{ reward: 0.2, source: "imported", at: hour + 2_000 },
  });
});

test("the policy is the one that is fitted to the same rows in memory", async () => {
  const policy = await system.eventually("a policy of all rows", async () => {
    const [newest] = await policyHistory(system.session.clickhouse, "router", { limit: 1 });
    return newest?.metrics["rewards"] === rows.length ? newest : undefined;
  });
  const learnt = decodeRouterPolicy(policy);
  if ("problem" in learnt) throw new Error(learnt.problem);
  const vectors = await embedder.embedAll(rows.map(({ request }) => request));
  const features = createFeatures();
  const { priorMean, priorVariance, noiseVariance } = system.config.routing;
  for (const [arm, theirs, cost] of [
    ["small", "cheap-model", 0.1],
    ["large", "large", 1],
  ] as const) {
    const statistics = emptyStatistics(FEATURE_COUNT);
    rows.forEach((row, i) => {
      if (row.arm !== theirs) return;
      const asked = { question: row.request, promptCharacters: row.request.length, messages: 1, examples: [], cost };
      observe(statistics, features({ ...asked, embedding: vectors[i]! }), row.reward);
    });
    const expected = solvePosterior(statistics, constantPrior(FEATURE_COUNT, priorMean, priorVariance, noiseVariance));
    const mean = learnt.arms.get(arm)!.mean;
    expect(mean).toHaveLength(FEATURE_COUNT);
    for (let k = 0; k < FEATURE_COUNT; k++) expect(mean[k]).toBeCloseTo(expected.mean[k]!, 4);
  }
  // It decides the next request.
  const answer = await system.ask("hello");
  expect(answer.status).toBe("ok");
});

test("what can't be imported says where and why", async () => {
  const of = async (row: object): Promise<string> => {
    const bad = join(folder, "bad.jsonl");
    await writeFile(bad, JSON.stringify(row));
    return bring({ file: bad }).then(
      () => "imported",
      (error: unknown) => (error as Error).message,
    );
  };
  const { time: _time, ...timeless } = rows[0]!;
  expect(await of(timeless)).toMatch(/old-0 has no time.*--columns time=NAME/);
  expect(await of({ ...rows[0], arm: "gpt" })).toMatch(/no arm is called gpt; --arms ARM=gpt/);
  expect(await of({ ...rows[0], reward: 2 })).toMatch(/bad\.jsonl, row 1: reward/);
  await expect(bring({ options: { preset: "x" } })).rejects.toThrow(/there are litellm, langfuse/);
  await expect(bring({ options: { arms: "x=y" } })).rejects.toThrow(/one of small, large/);
});
