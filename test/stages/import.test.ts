// The log of another system on the real stack: what is imported stands in the tables and views as
// our own rows do, once, however often and from wherever it is imported; and the policy that learn
// makes of it is the one that is fitted to the same rows in memory.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { emptyStatistics, observe, solvePosterior, constantPrior } from "../../algorithms/routing/bandit.ts";
import { createFeatures, FEATURE_COUNT } from "../../algorithms/routing/features.ts";
import { importLog, type LogImport } from "../../cli/import.ts";
import { runCommand } from "../../cli/run.testing.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import { openEmbedder } from "../../pipelines/embedder.ts";
import { rowsOf } from "../../operators/decode/rows.ts";
import { openSession, type Session } from "../../pipelines/session.ts";
import { writeParquet } from "../../stack/convert.ts";
import { decodeRouterPolicy } from "../../state/policies/router.ts";
import { firstGuess } from "../../state/policies/prior.ts";
import { policyHistory } from "../../state/policies/history.ts";
import { feedbackOf } from "../support/learning.ts";
import { databaseName } from "../support/stack.ts";
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

const never = new AbortController().signal;
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
  embedder = await openEmbedder(config, { log: session.log });
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
  expect(await bring()).toMatchObject({ requests: 60, answers: 60, rewards: 60, known: 0 });
  await system.eventually("the rewards", async () => ((await counts())["rewards"] === 60 ? true : undefined));
  expect(await bring()).toMatchObject({ requests: 0, answers: 0, rewards: 0, known: 60 });
  expect(await counts()).toEqual({ ...whole, rewards: 60 });
  // Its answers were inserted twice, and count once.
  for (const table of ["answer_hours", "answer_days"])
    expect(await clickhouse.query(`SELECT sum(answers) AS answers, round(sum(cost), 9) AS cost FROM ${table}`)).toEqual(
      [{ answers: 60, cost: 1.77 }],
    );
});

test("a replay of the imported window has the answers that were imported", async () => {
  const replayed = await run("replay", "log-replay", "run", "--from", "2026-10-20", "--to", "2026-10-21", "--json");
  expect(replayed, replayed.note).toMatchObject({ code: 0 });
  const [policy] = (JSON.parse(replayed.out) as { policies: Record<string, number>[] }).policies;
  // What it can't answer is what another arm answered.
  expect(policy).toMatchObject({ requests: 60, decided: 60, estimate: { decisions: 60 } });
  expect(policy!["rewarded"]).toBeGreaterThan(0);
  expect(policy!["notRecorded"]).toBe(60 - policy!["rewarded"]!);
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
  const { priorMean, priorVariance, noiseVariance } = firstGuess;
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

test("rows that can't be imported are left out with the reason, and imported once it is gone", async () => {
  const { time: _time, ...timeless } = rows[0]!;
  const bad = join(folder, "bad.jsonl");
  const [one, other] = [
    { ...rows[0], id: "bad-1", arm: "gpt" },
    { ...rows[0], id: "bad-2" },
  ];
  // By which all that was ever learnt would be as good as forgotten.
  const late = { ...rows[0], id: "bad-3", time: new Date(Date.now() + 2 * 86_400_000).toISOString() };
  const given = [{ ...timeless, id: "bad-0" }, one, { ...one, reward: 2 }, other, other, late];
  await writeFile(bad, given.map((row) => JSON.stringify(row)).join("\n"));
  const done = await bring({ file: bad });
  expect(done).toMatchObject({ requests: 1, rewards: 1, known: 1 });
  expect(done.leftOut.describe()).toEqual([
    expect.stringMatching(/^ {2}1: it has no time.*--columns time=NAME.*\(row 1\)$/),
    "  1: no arm is called gpt; --arms ARM=gpt says which one it is (row 2)",
    expect.stringMatching(/^ {2}1: reward: .*\(row 3\)$/),
    expect.stringMatching(/^ {2}1: time: it lies in the future.*\(row 6\)$/),
  ]);
  const again = await bring({ file: bad, options: { arms: "small=cheap-model,large=gpt" } });
  expect(again).toMatchObject({ requests: 1, rewards: 1, known: 2 });
  await system.eventually("its reward, learnt though the file was read before", async () => {
    const [row] = await system.session.clickhouse.query<{ n: number }>(
      "SELECT count() AS n FROM rewards FINAL WHERE request_id LIKE 'bad-%' AND weight > 0",
    );
    return Number(row!.n) === 2 ? true : undefined;
  });
  await expect(bring({ options: { preset: "x" } })).rejects.toThrow(/there are litellm, langfuse/);
  await expect(bring({ options: { arms: "x=y" } })).rejects.toThrow(/one of small, large/);
});

/** As a user runs it, in a folder with a name that is none of a glob. */
async function run(name: string, ...argv: string[]) {
  const cwd = join(folder, name);
  await mkdir(cwd, { recursive: true });
  await writeFile(join(cwd, "precedent.yaml"), JSON.stringify(system.config));
  return runCommand(cwd, argv, process.env);
}
const time = new Date(hour).toISOString();

test("CSV and Parquet are read where they lie, with users that forget finds", async () => {
  const name = "it's {a,b}* odd";
  await mkdir(join(folder, name));
  const csv = join(folder, name, "x.csv");
  const lines = [
    "id;request;time;arm;end_user;note",
    `c1;"a;\nb";${time};small;ann;x`,
    `c2;c;${time};small;bob;x`,
    "c3;d",
  ];
  await writeFile(csv, `\uFEFF${lines.join("\r\n")}`);
  expect(await run(name, "import", "x.csv")).toMatchObject({
    ...{ code: 0, out: "imported 2 requests, 2 answers, 0 rewards\n" },
    note: expect.stringMatching(/left out 1 rows:\n {2}1: it has another number of fields than the header \(row 3\)/),
  });
  const parquet = join(folder, name, "y'*.parquet");
  const columns = "`id` UInt64, `request` String, `time` DateTime64(9), `arm` String, `metadata` Map(String, String)";
  const row = {
    id: "9007199254740993",
    request: "e",
    time: "2026-10-20 12:00:00",
    arm: "small",
    metadata: { user_id: "ann" },
  };
  await writeParquet(parquet, columns, never, (handle) => handle.appendFile(JSON.stringify(row)));
  expect(await bring({ file: parquet })).toMatchObject({ requests: 1 });
  // No copy of it stays anywhere.
  expect((await readdir(join(folder, name))).sort()).toEqual(["precedent.yaml", "x.csv", "y'*.parquet"]);
  const asked = await system.session.clickhouse.query<{ id: string; user: string; question: string }>(
    `SELECT request_id AS id, metadata['user'] AS user, question FROM requests FINAL
     WHERE request_id IN ('c1', 'c2', '9007199254740993') ORDER BY id`,
  );
  expect(asked).toEqual([
    { id: "9007199254740993", user: "ann", question: "e" },
    { id: "c1", user: "ann", question: "a;\nb" },
    { id: "c2", user: "bob", question: "c" },
  ]);
  expect(await run(name, "forget", "--user", "ann", "--wait", "0")).toMatchObject({ code: 0 });
  const again = await bring({ file: csv });
  expect(again).toMatchObject({ requests: 0, known: 1 });
  expect(again.leftOut.describe()).toContainEqual("  1: it was erased here (precedent forget) (row 1)");
  expect(await run(name, "import", "y'*.parquet")).toMatchObject({
    code: 1,
    note: expect.stringContaining("nothing was imported"),
  });
});

test("feedback in a file of its own is on the requests of another, of one tenant", async () => {
  const id = "019a0000-0000-7000-8000-00000000000";
  const inference = (n: number) => ({
    ...{
      id: `${id}${n}`,
      episode_id: `episode-${n < 3 ? 1 : n}`,
      function_name: "shell",
      variant_name: "small",
      timestamp: time,
    },
    ...{ input: '{"messages":[{"role":"user","content":"hi"}]}', output: '[{"type":"text","text":"ho"}]' },
  });
  const metric = (n: number, target: string) => ({ id: `f${n}`, target_id: target, metric_name: "good", value: n > 1 });
  const write = (name: string, given: readonly object[]): Promise<void> =>
    writeFile(join(folder, name), given.map((row) => JSON.stringify(row)).join("\n"));
  await write("chat.jsonl", [1, 2, 3].map(inference));
  // A time that can't be right is that of the request.
  const late = { ...metric(1, `${id}3`), timestamp: "2099-01-01 00:00:00" };
  await write("metric.jsonl", [late, metric(2, "episode-1"), metric(3, "of another")]);
  await write("shown.jsonl", [{ id: "d1", inference_id: `${id}3`, value: '[{"type":"text","text":"better"}]' }]);
  const preset = (name: string) => bring({ file: join(folder, name), options: { preset: "tensorzero" } });
  expect(await preset("chat.jsonl")).toMatchObject({ requests: 3, answers: 3, rewards: 0 });
  const done = await preset("metric.jsonl");
  expect(done).toMatchObject({ requests: 0, rewards: 3 });
  expect(done.leftOut.describe()).toEqual(["  1: no request that it is on is imported (row 3)"]);
  expect(await preset("metric.jsonl")).toMatchObject({ rewards: 0, known: 3 });
  const [newest] = await system.session.clickhouse.query<{ at: number }>(
    `SELECT max(toUnixTimestamp64Milli(created_at)) AS at FROM feedback FINAL WHERE request_id = '${id}3'`,
  );
  expect(Number(newest!.at)).toBe(hour);
  expect(await preset("shown.jsonl")).toMatchObject({ corrections: 1 });
  const given = await system.session.clickhouse.query(
    `SELECT request_id AS id, kind, value, text FROM feedback FINAL WHERE request_id LIKE '${id}%' ORDER BY id, kind`,
  );
  expect(given).toEqual([
    { id: `${id}1`, kind: "reward", value: 1, text: null },
    { id: `${id}2`, kind: "reward", value: 1, text: null },
    { id: `${id}3`, kind: "correction", value: null, text: "better" },
    { id: `${id}3`, kind: "reward", value: 0, text: null },
  ]);
});

test("what is exported gives the same rows in another database", async () => {
  const stored = async (session: Session) => {
    const of = (sql: string) => session.clickhouse.query(`${sql} ORDER BY ALL`);
    const but = "EXCEPT (topic, kafka_partition, kafka_offset, kafka_origin, said_at)";
    return {
      requests: await of(`SELECT * ${but} FROM requests FINAL`),
      responses: await of(`SELECT * ${but} FROM responses FINAL WHERE source = 'imported'`),
      decisions: await of(
        `SELECT request_id, tenant, arm, probability, arms, degraded FROM decisions FINAL WHERE source = 'imported'`,
      ),
      corrections: await of(`SELECT request_id, tenant, text FROM feedback FINAL WHERE kind = 'correction'`),
      rewards: await of(`SELECT request_id, tenant, value FROM feedback FINAL WHERE kind = 'reward'`),
    };
  };
  // Asked here: its answer is no imported one.
  await system.session.clickhouse.command(
    "ALTER TABLE requests DELETE WHERE topic != 'import' SETTINGS mutations_sync = 2",
  );
  const before = await stored(system.session);
  for (const name of ["all.jsonl", "all.parquet"]) {
    const exported = await run("out", "export", name);
    expect(exported, exported.note).toMatchObject({ code: 0, out: `exported ${before.requests.length} rows\n` });
    const config = { ...system.config, clickhouse: { ...system.config.clickhouse, database: databaseName() } };
    const session = await openSession(config, { log: system.session.log, clientId: "test" });
    try {
      await importLog({ session, embedder, file: join(folder, "out", name) });
      expect(await stored(session)).toEqual(before);
    } finally {
      await session.clickhouse.command(`DROP DATABASE ${config.clickhouse.database}`);
      await session.close();
    }
  }
  expect((await readdir(join(folder, "out"))).sort()).toEqual(["all.jsonl", "all.parquet", "precedent.yaml"]);
});

test("files for training have rated answers and preferences of one tenant, redacted where asked", async () => {
  const { clickhouse } = system.session;
  const [answer] = await clickhouse.query<Record<string, unknown>>(
    "SELECT * FROM responses FINAL WHERE request_id = 'old-1' AND tenant = 'rival'",
  );
  await clickhouse.insert("alternative_answers", [{ ...answer, arm: "small", text: "mail eve@acme.org" }]);
  const preference = { id: "p1", tenant: "rival", kind: "preference", value: -1, against: "small" } as const;
  await clickhouse.insert(
    "feedback",
    rowsOf
      .feedback(feedbackOf("old-1", preference), {
        ...{ topic: "t", partition: 0, offset: 1, timestamp: hour },
      })
      .flatMap((table) => table.rows),
  );
  expect(await run("out", "export", "t.jsonl", "--training", "sft")).toMatchObject({ code: 2 });
  const training = async (...argv: string[]): Promise<unknown[]> => {
    const done = await run("out", "export", "t.jsonl", "--tenant", "rival", ...argv);
    expect(done, done.note).toMatchObject({ code: 0 });
    const text = await readFile(join(folder, "out", "t.jsonl"), "utf8");
    return text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
  };
  const rated = rows.filter(({ tenant, reward }) => tenant === "rival" && reward >= 0.8);
  const sft = await training("--training", "sft");
  expect(sft).toHaveLength(rated.length);
  expect(sft).toContainEqual({
    messages: [
      { role: "user", content: rows[1]!.request },
      { role: "assistant", content: "answer 1" },
    ],
  });
  const chosen = (text: string) => [{ role: "assistant", content: text }];
  expect(await training("--training", "dpo")).toEqual([
    {
      prompt: [{ role: "user", content: rows[1]!.request }],
      ...{ chosen: chosen("mail eve@acme.org"), rejected: chosen("answer 1") },
    },
  ]);
  expect(await training("--training", "openai-dpo", "--redact")).toEqual([
    {
      input: { messages: [{ role: "user", content: rows[1]!.request }] },
      preferred_output: [{ role: "assistant", content: expect.stringMatching(/^mail <EMAIL_\d{9}>$/) }],
      non_preferred_output: chosen("answer 1"),
    },
  ]);
});
