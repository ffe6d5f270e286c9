// precedent forget on a running system: a person's requests, answers and feedback are gone from
// tables, compacted topics and files, however late records of them come. It is killed in the middle
// and does the rest when it is called again; no other user loses records.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { v7 as uuid } from "uuid";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../../cli/run.testing.ts";
import { openDisk } from "../../connections/kv/disk.ts";
import { openKvStore } from "../../connections/kv/store.ts";
import { anEntry, blobOf, format } from "../../connections/kv/values.testing.ts";
import type { Feedback, Request } from "../../schemas/types.ts";
import type { ForgetReport } from "../../analysis/forget/report.ts";
import { liveWith, rowsWith, tablesWith, type CompactedTopic } from "../support/found.ts";
import { feedbackOf } from "../support/learning.ts";
import { startRemembering } from "../support/remembering.ts";
import { requestOf, type TestSystem } from "../support/system.ts";

const marker = "zebrafinch";
const kept = "albatross";
const people = [
  { who: "ann", word: marker },
  { who: "bob", word: kept },
];
const asking = [
  (word: string): string => `Where does the ${word} sleep in winter?`,
  (word: string): string => `Write a limerick on a train driver who met a ${word}`,
  (word: string): string => `List five cheap dinners that need no oven; my cat is called ${word}`,
];
const questionOf = (word: string, i: number): string => asking[i]!(word);
const logReplayId = "0a1b2c3d";

let folder: string;
let system: TestSystem;
const asked = new Map<string, string[]>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-forget-"));
  const answers = people.flatMap(({ word }) =>
    [0, 1, 2].map((i) => ({ request: questionOf(word, i), response: `The ${word} sleeps in tree ${i}.` })),
  );
  system = await startRemembering(folder, answers);
  for (const { who, word } of people) {
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) {
      const { requestId } = await system.ask(questionOf(word, i), personal(who));
      ids.push(requestId);
      await say(requestId, { kind: "reward", value: 1, comment: `the ${word} again` });
    }
    await say(ids[0]!, { kind: "correction", text: `The ${word} sleeps under water.` });
    asked.set(who, ids);
  }
  // An undecodable record that still names its user.
  await sendRaw(Buffer.from(`{"user":"ann","text":"${marker}"}`));
  await sendRaw(Buffer.from(`{"user":"annabel","text":"${kept}"}`));
  await makeCache();
  await makeLogReplay();
  let counted: unknown;
  await system
    .eventually("all of it in its places", async () => {
      const counts = await Promise.all([
        rows("examples", marker),
        rows("examples", kept),
        rows("dead_letters", marker),
      ]);
      const there = await Promise.all(["feedback", "responses", "requests"].map((table) => rows(table, marker)));
      const answers = await liveValues("response-cache", marker);
      counted = { counts, there, answers };
      const whole = Math.min(counts[0], counts[1], answers, ...there) >= 3 && counts[2] === 1;
      return whole ? true : undefined;
    })
    .catch((error: unknown) => {
      throw new Error(`there is ${JSON.stringify(counted)}`, { cause: error });
    });
}, 180_000);
afterAll(async () => {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

const personal = (who: string): Partial<Request> => ({ tenant: "acme", domain: "birds", metadata: { user: who } });

async function say(requestId: string, more: Partial<Feedback>): Promise<void> {
  const { kafka, codec, topic } = system.session;
  const producer = kafka.plainProducer();
  const record = feedbackOf(requestId, { id: uuid(), tenant: "acme", createdAt: Date.now(), ...more });
  await producer.send([{ topic: topic("feedback"), key: requestId, value: codec.encode("feedback", record) }]);
  await producer.close();
}

async function sendRaw(value: Buffer): Promise<void> {
  const producer = system.session.kafka.plainProducer();
  await producer.send([{ topic: system.session.topic("requests"), key: null, value }]);
  await producer.close();
}

async function makeCache(): Promise<void> {
  const disk = await openDisk(join(system.config.stack.folder, "kv", "native"), format);
  const log = { warn: () => undefined };
  const store = await openKvStore({ format, memoryBytes: 100, disk, diskBytes: 1_000, clock: Date.now, log });
  const entry = anEntry(1);
  await store.put(entry, blobOf(1));
  await store.flush();
  await store.create(`example/${marker}`, entry.key);
  await store.close();
}

/** As a log replay that was kept leaves it, with one request of the person in its log. */
async function makeLogReplay(): Promise<void> {
  const { clickhouse, config } = system.session;
  const database = `${config.clickhouse.database}_log_log_replay_${logReplayId}`;
  await clickhouse.command(`CREATE DATABASE ${database}`);
  await clickhouse.command(
    `CREATE TABLE ${database}.log (request_id String, tenant String, request String) ENGINE = MergeTree ORDER BY request_id`,
  );
  await clickhouse.insert(`${database}.log`, [{ request_id: asked.get("ann")![0], tenant: "acme", request: marker }]);
  await mkdir(join(config.stack.folder, "log-replays", logReplayId), { recursive: true });
  const state = { id: logReplayId, source: "a window", startedAt: 0, lanes: [] };
  await writeFile(join(config.stack.folder, "log-replays", logReplayId, "log-replay.json"), JSON.stringify(state));
}

const rows = (table: string, word: string): Promise<number> => rowsWith(system.session, table, word);
const allTables = (word: string): Promise<Record<string, number>> => tablesWith(system.session, word);
const liveValues = (name: CompactedTopic, word: string): Promise<number> => liveWith(system.session, name, word);

async function forget(...argv: string[]): Promise<{ code: number; report: ForgetReport; note: string }> {
  const reported = await runCommand(folder, ["forget", "--tenant", "acme", "--user", "ann", "--json", ...argv]);
  if (reported.out === "") throw new Error(reported.note);
  return { code: reported.code, report: JSON.parse(reported.out) as ForgetReport, note: reported.note };
}

test("a dry run says what there is and changes nothing", async () => {
  const { code, report } = await forget("--dry-run");
  expect(code).toBe(0);
  expect(report).toMatchObject({ erasure: null, requests: 3 });
  const locations = report.found.map(({ location }) => location);
  expect(locations).toEqual(
    expect.arrayContaining(["table requests", "table responses", "table feedback", "table dead_letters"]),
  );
  expect(await rows("requests", marker)).toBe(3);
});

test("killed in the middle it does the rest when called again: nothing is found anywhere", async () => {
  const before = await allTables(kept);
  const [run, script] = ["../../tools/bin/run.mjs", "../../cli/main.ts"].map((file) =>
    fileURLToPath(new URL(file, import.meta.url)),
  );
  const child = spawn(process.execPath, [run!, script!, "forget", "-t", "acme", "-u", "ann"], {
    ...{ cwd: folder, stdio: ["ignore", "ignore", "pipe"] as const },
  });
  let reported = "";
  child.stderr.on("data", (text: Buffer) => {
    reported += text.toString();
    // Some tables before the one that is looked at below, which it must not reach.
    if (reported.includes("deleting from responses")) child.kill("SIGKILL");
  });
  await once(child, "exit");
  expect(child.signalCode).toBe("SIGKILL");
  expect(await rows("requests", marker)).toBe(3);

  const { code, report, note } = await forget();
  expect({ code, found: report.found, underWay: report.underWay }, note).toEqual({ code: 0, found: [], underWay: 0 });
  expect(report.removed.rows).toMatchObject({ requests: 3, feedback: 4 });
  expect(await allTables(marker)).toEqual({});
  expect(await liveValues("response-cache", marker)).toBe(0);
  expect(await liveValues("examples", marker)).toBe(0);
  // What cannot be taken out is said, with its time.
  const prefix = system.config.kafka.prefix;
  const until = new Map(report.remains.map(({ location, until: time }) => [location, time]));
  for (const name of ["requests", "responses", "feedback", "decisions", "dead-letters", "response-cache", "examples"])
    expect(Date.parse(until.get(`topic ${prefix}${name}`) ?? "")).toBeGreaterThan(Date.now());
  // Processes that run have their pools open: they are marked.
  expect(
    report.remains
      .filter(({ location }) => location.startsWith("pool "))
      .map(({ until: time }) => Date.parse(time ?? "") > Date.now()),
  ).toEqual([true, true]);
  // Caches don't record persons: all are gone. The log replay is removed whole.
  expect(await readdir(join(system.config.stack.folder, "kv", "native", format, "ids"))).toEqual([]);
  expect(
    (await readdir(join(system.config.stack.folder, "kv", "native", format))).filter((name) => name.endsWith(".kv")),
  ).toEqual([]);
  const databases = await system.session.clickhouse.query(
    "SELECT name FROM system.databases WHERE name LIKE {like:String}",
    {
      like: `%${logReplayId}`,
    },
  );
  expect(databases).toEqual([]);

  const after = await allTables(kept);
  for (const table of ["requests", "responses", "examples", "feedback", "dead_letters"])
    expect([table, after[table]]).toEqual([table, before[table]]);
  expect(await liveValues("examples", kept)).toBeGreaterThanOrEqual(3);
  expect(await liveValues("response-cache", kept)).toBeGreaterThanOrEqual(3);
}, 120_000);

test("what comes later of an erased request is not kept, and a repeat of the question is asked anew", async () => {
  await say(asked.get("ann")![1]!, { kind: "correction", text: `The ${marker} sleeps at sea.` });
  await say(asked.get("ann")![2]!, { kind: "reward", value: 1, comment: marker });
  await say(asked.get("bob")![1]!, { kind: "correction", text: `The ${kept} sleeps at sea.` });
  await system.eventually("the other's correction is an example", async () =>
    (await rows("examples", "at sea")) > 0 ? true : undefined,
  );
  expect(await allTables(marker)).toEqual({});
  expect(await liveValues("examples", marker)).toBe(0);
  // No trace of the cached answer is left either.
  const repeat = requestOf(questionOf(marker, 0), personal("carol"));
  const answered = system.response(repeat.id);
  await system.produce([repeat]);
  expect(await answered).toMatchObject({ source: "generated" });
});
