// Log replay on a real system: the window runs through the real stages under two policies, twice
// with the same decisions, is killed and goes on, and nothing live changes.
import { plainFeedback } from "../../schemas/plain-feedback.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LogReplayReport } from "../../analysis/log-replay/run.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { runCommand } from "../../cli/run.testing.ts";
import { eventually, startSystem, type TestSystem } from "../support/system.ts";
import { testStack } from "../support/stack.ts";

const asked = 80;
const questions = Array.from({ length: 40 }, (_, i) => `How do I list the files of folder number ${i}?`);
/** The large arm is right on all of them, the small one on every third. */
const rewardOf = (question: string, arm: string): number =>
  arm === "large" || questions.indexOf(question) % 3 === 0 ? 1 : 0;

let folder: string;
let system: TestSystem;
let window: string[];
const ids: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-log-replay-"));
  const file = join(folder, "answers.jsonl");
  const lines = questions.flatMap((request) =>
    ["small", "large"].map((arm) =>
      JSON.stringify({ request, response: `${arm} on ${request}`, arm, cost: arm === "large" ? 1 : 0.1 }),
    ),
  );
  await writeFile(file, lines.join("\n"));
  system = await startSystem(
    {
      arms: [
        { name: "small", type: "recorded", file, cost: 0.1, dispatch: "queued" },
        { name: "large", type: "recorded", file, cost: 1, dispatch: "inline" },
      ],
      kafka: { partitions: 2 },
      learn: { everyMs: 500, settleMs: 100 },
      // Every request is decided, repeats too.
      cache: { enabled: false },
    },
    { stages: ["plan", "generate", "record", "learn"] },
  );
  const from = Date.now();
  const { kafka, codec, topic, clickhouse } = system.session;
  const producer = kafka.plainProducer();
  const random = splitmix64(3);
  for (let i = 0; i < asked; i += 8) {
    const some = Array.from({ length: 8 }, () => questions[Math.floor(random() * questions.length)]!);
    const responses = await Promise.all(some.map((question) => system.ask(question)));
    const feedback = responses.map(({ requestId, arm }, k) =>
      plainFeedback({
        ...{ id: `f-${requestId}`, requestId, kind: "reward", value: rewardOf(some[k]!, arm!) },
        ...{ source: "system", createdAt: Date.now() },
      }),
    );
    ids.push(...responses.map(({ requestId }) => requestId));
    await producer.send(
      feedback.map((one) => ({ topic: topic("feedback"), key: one.requestId, value: codec.encode("feedback", one) })),
    );
  }
  await producer.close();
  await eventually("rewards and a version of the router", async () => {
    const [row] = await clickhouse.query<{ rewards: number; versions: number; responses: number; decisions: number }>(
      `SELECT (SELECT count() FROM rewards FINAL WHERE weight > 0) AS rewards, (SELECT count() FROM policies FINAL) AS versions,
         (SELECT count() FROM responses FINAL) AS responses, (SELECT count() FROM decisions FINAL) AS decisions`,
    );
    const whole = row !== undefined && Math.min(row.rewards, row.responses, row.decisions) >= asked;
    return whole && row.versions > 0 ? row : undefined;
  });
  // What is compared before and after must not change by itself.
  await system.stages.stop();
  window = ["--from", new Date(from).toISOString(), "--to", new Date(Date.now() + 1_000).toISOString()];
  // JSON is YAML.
  await writeFile(join(folder, "precedent.yaml"), JSON.stringify({ ...system.config, instance: undefined }));
});
afterAll(async () => {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

async function logReplay(...argv: string[]): Promise<LogReplayReport & { kept: boolean }> {
  const said = await runCommand(folder, ["log-replay", "run", "--json", ...argv]);
  if (said.code !== 0) throw new Error(said.note);
  return JSON.parse(said.out) as LogReplayReport & { kept: boolean };
}

/** Everything that a log replay must leave as it is: ends of topics, names, rows. */
async function live(): Promise<unknown> {
  const { kafka, clickhouse, config } = system.session;
  const { prefix } = config.kafka;
  const topics = (await kafka.topics()).filter((name) => name.startsWith(prefix)).sort();
  // As they read: rows of one identity merge whenever they like. What sums and sketches look like
  // inside depends on the order of the merges, so they are read as the page does.
  const names = await clickhouse.query<{ name: string; final: string; columns: string[] }>(
    `SELECT tables.name AS name, if(engine = 'MergeTree', '', 'FINAL') AS final,
       (SELECT groupArray(multiIf(
          startsWith(type, 'AggregateFunction'), concat('finalizeAggregation(', columns.name, ')'),
          type = 'SimpleAggregateFunction(sum, Float64)', concat('round(', columns.name, ', 9)'),
          columns.name))
        FROM system.columns AS columns
        WHERE database = {database:String} AND columns.table = tables.name AND default_kind != 'MATERIALIZED') AS columns
     FROM system.tables AS tables
     WHERE database = {database:String} AND endsWith(engine, 'MergeTree') ORDER BY name`,
    { database: config.clickhouse.database },
  );
  expect(Math.min(...names.map(({ columns }) => columns.length))).toBeGreaterThan(2);
  const tables = [];
  for (const { name, final, columns } of names)
    tables.push([
      name,
      await clickhouse.query(
        `SELECT count() AS rows, toString(groupBitXor(cityHash64(toString(tuple(${columns.join(", ")}))))) AS hash
         FROM ${name} ${final}`,
      ),
    ]);
  const databases = await clickhouse.query(
    "SELECT name FROM system.databases WHERE startsWith(name, {database:String}) ORDER BY name",
    { database: config.clickhouse.database },
  );
  const subjects = (await (await fetch(`${testStack().registryUrl}/subjects`)).json()) as string[];
  return {
    ends: await Promise.all(topics.map(async (name) => [name, await kafka.spans(name)])),
    groups: (await kafka.groups()).filter((name) => name.startsWith(prefix)).sort(),
    tables,
    databases,
    subjects: subjects.filter((name) => name.startsWith(prefix)).sort(),
    policies: await clickhouse.query("SELECT name, version, created_at FROM policies FINAL ORDER BY name, version"),
    logReplays: await readdir(join(config.stack.folder, "log-replays")).catch(() => []),
  };
}

test("two policies on the same traffic, from the log alone, the same each time; nothing live changes", async () => {
  const before = await live();
  const [{ version } = { version: 0 }] = await system.session.clickhouse.query<{ version: number }>(
    "SELECT max(version) AS version FROM policies WHERE name = 'router'",
  );
  const both = ["--policy", "router@0", "--policy", `router@${version}`];
  const first = await logReplay(...window, ...both);
  expect(await live()).toEqual({ ...(before as object), logReplays: [] });
  expect(first.window.requests).toBe(asked);
  expect(
    first.policies.map(({ policy, requests, decided, degraded }) => [policy, requests, decided, degraded]),
  ).toEqual([
    ["router@0", asked, asked, 0],
    [`router@${version}`, asked, asked, 0],
  ]);
  const [prior, learnt] = first.policies;
  for (const report of first.policies) {
    expect(report.arms.reduce((sum, { requests }) => sum + requests, 0)).toBe(asked);
    // What the log does not hold is said and not made up.
    expect(report.arms.reduce((sum, one) => sum + one.rewarded + one.notRecorded + one.failed, 0)).toBe(asked);
    expect(report.arms.every(({ failed }) => failed === 0)).toBe(true);
    // It was logged by the prior and what came of it: its own estimate is near what was earned.
    expect(report.estimate.decisions).toBe(asked);
    expect(report.rewarded).toBeGreaterThan(asked / 4);
  }
  expect(prior!.fingerprint).not.toBe(learnt!.fingerprint);
  const again = await logReplay(...window, ...both, "--speed", "max");
  expect(again.policies.map(({ fingerprint }) => fingerprint)).toEqual(
    first.policies.map(({ fingerprint }) => fingerprint),
  );
  const otherwise = await logReplay(...window, "--policy", "router@0", "--seed", "2");
  expect(otherwise.policies[0]!.arms).not.toEqual(prior!.arms);
});

test("a log replay that was killed goes on where it was, and comes to the same", async () => {
  const [{ first } = { first: 0 }] = await system.session.clickhouse.query<{ first: number }>(
    "SELECT toUnixTimestamp64Milli(max(created_at)) - toUnixTimestamp64Milli(min(created_at)) AS first FROM requests",
  );
  const whole = (await logReplay(...window, "--policy", "router@0")).policies[0]!;
  // So slow that it is killed on its way.
  const speed = String(first / 12_000);
  const script = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
  const run = fileURLToPath(new URL("../../tools/bin/run.mjs", import.meta.url));
  const child = spawn(
    process.execPath,
    [run, script, "log-replay", "run", ...window, "--policy", "router@0", "--speed", speed],
    {
      ...{ cwd: folder, stdio: ["ignore", "ignore", "pipe"] as const },
    },
  );
  let said = "";
  child.stderr.on("data", (text: Buffer) => (said += text.toString()));
  const id = await eventually("its id", () => Promise.resolve(/log replay ([0-9a-f]{8})/.exec(said)?.[1]));
  const { clickhouse, config } = system.session;
  const lane = `${config.clickhouse.database}_log_log_replay_${id}_1`;
  const answered = async (): Promise<number> =>
    (await clickhouse.query<{ count: number }>(`SELECT count() AS count FROM ${lane}.responses FINAL`))[0]!.count;
  await eventually("some answers", async () => ((await answered()) >= asked / 4 ? true : undefined));
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(await answered()).toBeLessThan(asked);
  const listed = await runCommand(folder, ["log-replay", "list", "--json"]);
  expect(JSON.parse(listed.out)).toMatchObject({ id, state: "not finished" });
  const rest = await logReplay("--run", id, "--keep");
  const [{ requests, doubled } = { requests: 0, doubled: 0 }] = await clickhouse.query<{
    requests: number;
    doubled: number;
  }>(`SELECT uniqExact(request_id) AS requests, count() - requests AS doubled FROM ${lane}.responses FINAL`);
  expect({ requests, doubled }).toEqual({ requests: asked, doubled: 0 });
  expect(rest.policies[0]).toMatchObject({ fingerprint: whole.fingerprint, arms: whole.arms });
  // Fresh by the log replay's clock: its views show it.
  const [{ views } = { views: 0 }] = await clickhouse.query<{ views: number }>(
    `SELECT countIf(created_at > now() - INTERVAL 2 WEEK AND created_at < now()) AS views FROM ${lane}.decisions FINAL`,
  );
  expect(views).toBe(asked);
  expect(await runCommand(folder, ["log-replay", "remove", id])).toMatchObject({ code: 0 });
  expect((await system.session.kafka.topics()).filter((name) => name.includes(id))).toEqual([]);
});

test("a Parquet and a CSV of another system, across a month and a change of the clocks", async () => {
  // 2026-03-29, 01:00 UTC: central European clocks go from 02:00 to 03:00; the month ends soon.
  const rows = Array.from({ length: 60 }, (_, i) => ({
    when: new Date(Date.UTC(2026, 2, 28, 23) + i * 90 * 60_000).toISOString(),
    prompt: questions[i % questions.length]!,
    route: i % 2 === 0 ? "small" : "large",
    completion: `an "answer", the ${i}th,\nof two lines`,
    score: i % 3 === 0 ? 0 : 1,
    p: 0.5,
    took: 100 + i,
  }));
  const csv = join(folder, "other.csv");
  const cell = (value: string | number): string => `"${String(value).replaceAll('"', '""')}"`;
  const text = [Object.keys(rows[0]!).join(","), ...rows.map((row) => Object.values(row).map(cell).join(","))].join(
    "\n",
  );
  await writeFile(csv, `${text}\n`);
  const parquet = join(folder, "other.parquet");
  const { query } = await import("chdb");
  query(
    `SELECT * REPLACE (toDateTime64(when, 3, 'UTC') AS when, toFloat64(score) AS score, toInt32(took) AS took, toFloat64(p) AS p)
     FROM file('${csv}', 'CSVWithNames') INTO OUTFILE '${parquet}' TRUNCATE FORMAT Parquet SETTINGS session_timezone = 'UTC'`,
  );
  const columns = [
    "--columns",
    "time=when,request=prompt,arm=route,answer=completion,outcome=score,propensity=p,total_ms=took",
  ];
  const names = ["--policy", "router@0", "--keep"];
  const reports = [];
  const { clickhouse, config } = system.session;
  for (const file of [csv, parquet]) {
    const report = await logReplay("--file", file, ...columns, ...names);
    reports.push(report);
    expect(report.window).toEqual({ requests: 60, from: Date.parse(rows[0]!.when), to: Date.parse(rows[59]!.when) });
    const lane = `${config.clickhouse.database}_log_log_replay_${report.id}_1`;
    const times = await clickhouse.query<{ at: number; decided: number; answered: number; took: number | null }>(
      `SELECT toUnixTimestamp64Milli(request.created_at) AS at, toUnixTimestamp64Milli(decision.created_at) AS decided,
         toUnixTimestamp64Milli(response.created_at) AS answered, if(response.status = 'ok', response.total_ms, 0) AS took
       FROM (SELECT * FROM ${lane}.requests FINAL) AS request
       JOIN (SELECT * FROM ${lane}.decisions FINAL) AS decision USING request_id
       JOIN (SELECT * FROM ${lane}.responses FINAL) AS response USING request_id ORDER BY at`,
    );
    // One constant for all of them, whatever clocks on walls did; nothing was late or lost.
    expect(times.map(({ at }) => at - report.shiftMs)).toEqual(rows.map(({ when }) => Date.parse(when)));
    for (const { at, decided, answered, took } of times) expect([decided, answered]).toEqual([at, at + took!]);
    const one = report.policies[0]!;
    expect(one.refused).toEqual({});
    expect(one.rewarded + one.notRecorded).toBe(60);
    // What the log holds no answer to would have taken as long as that arm's other calls.
    expect(one.notRecorded).toBeGreaterThan(0);
    for (const { requests, notRecorded, service } of one.arms) {
      expect(service).toMatchObject({ logged: requests - notRecorded, fitted: notRecorded, firstTokenP50Ms: null });
      expect(service.p50Ms! >= 100 && service.p50Ms! <= service.p99Ms! && service.p99Ms! <= 165).toBe(true);
    }
    expect(one.estimate.decisions).toBe(60);
    await runCommand(folder, ["log-replay", "remove", report.id]);
  }
  // Ids are made of the file's name; all else is the same.
  expect(reports[1]!.policies[0]!.quality).toBeTypeOf("number");
});

test("what is no log is refused with file and row", async () => {
  const bad = join(folder, "bad.jsonl");
  await writeFile(bad, `{"request":"a","time":"2026-01-01"}\n{"request":"b","time":"yesterday"}\n`);
  const said = await runCommand(folder, ["log-replay", "run", "--file", bad]);
  expect(said).toMatchObject({ code: 1, note: expect.stringMatching(/bad\.jsonl, row 2: time: yesterday is no time/) });
  await writeFile(join(folder, "broken.parquet"), "no parquet");
  expect(await runCommand(folder, ["log-replay", "run", "--file", "broken.parquet"])).toMatchObject({
    ...{ code: 1, note: expect.stringMatching(/broken\.parquet: /) },
  });
  for (const { id } of (await runCommand(folder, ["log-replay", "list", "--json"])).out
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { id: string }))
    await runCommand(folder, ["log-replay", "remove", id]);
});
