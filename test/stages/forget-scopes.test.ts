// precedent forget --request and --tenant: words of the one request, and of all that the tenant
// asked, said and handed in, are in no table, no live value of a topic and, once no process has the
// pools open, in no file, pages of databases included. Others' words stay where they were.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { v7 as uuid } from "uuid";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../../cli/run.testing.ts";
import { documentKey } from "../../connections/documents/port.ts";
import type { RecordOf } from "../../schemas/records.ts";
import type { ForgetReport } from "../../analysis/forget/report.ts";
import { filesWithWord, liveWith, rowsWith, tablesWith, type CompactedTopic } from "../support/found.ts";
import { feedbackOf } from "../support/learning.ts";
import { startRemembering } from "../support/remembering.ts";
import type { TestSystem } from "../support/system.ts";

// A word for each request: of acme two, of globex two.
const words = { acme: ["zebrafinch", "nightjar"], globex: ["oystercatcher", "albatross"] } as const;
const all = [...words.acme, ...words.globex];
/** What their tenants handed in, too: --request takes no documents along. */
const inDocuments: readonly string[] = ["nightjar", "albatross"];
const questionOf = (word: string): string => `Where does the ${word} sleep in winter?`;

let folder: string;
let system: TestSystem;
const ids = new Map<string, string>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-forget-scopes-"));
  const answerOf = (word: string) => ({ request: questionOf(word), response: `The ${word} sleeps in tall trees.` });
  system = await startRemembering(folder, all.map(answerOf));
  for (const tenant of ["acme", "globex"] as const)
    for (const word of words[tenant]) {
      const { requestId } = await system.ask(questionOf(word), { tenant, domain: `${tenant}-birds` });
      ids.set(word, requestId);
      const saying = { kind: "reward", value: 1, comment: `the ${word} again` } as const;
      const createdAt = Date.now();
      await send("feedback", requestId, feedbackOf(requestId, { id: uuid(), tenant, createdAt, ...saying }));
      if (!inDocuments.includes(word)) continue;
      const document = { tenant, id: "guide", title: null, expiresAt: null, text: `All about the ${word}.`, createdAt };
      await send("documents", documentKey(tenant, "guide"), document);
    }
  await system.eventually("all of it in its places", async () => {
    for (const word of all) {
      const counts = [
        ...(await Promise.all(["requests", "responses", "feedback", "examples"].map((table) => rows(table, word)))),
        ...(await Promise.all(topicsOf(word).map((name) => live(name, word)))),
      ];
      if (counts.includes(0) || (await inFiles(word)).length === 0) return undefined;
    }
    return true;
  });
}, 180_000);
afterAll(async () => {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

const rows = (table: string, word: string): Promise<number> => rowsWith(system.session, table, word);
const live = (name: CompactedTopic, word: string): Promise<number> => liveWith(system.session, name, word);
const topicsOf = (word: string): CompactedTopic[] =>
  inDocuments.includes(word) ? ["response-cache", "examples", "documents"] : ["response-cache", "examples"];
const inFiles = (word: string): Promise<string[]> => filesWithWord(system.config.stack.folder, word);

async function send<N extends "feedback" | "documents">(name: N, key: string, value: RecordOf[N]): Promise<void> {
  const { kafka, codec, topic } = system.session;
  const producer = kafka.plainProducer();
  await producer.send([{ topic: topic(name), key, value: codec.encode(name, value) }]);
  await producer.close();
}

async function forget(...scope: string[]): Promise<ForgetReport> {
  const reported = await runCommand(folder, ["forget", ...scope, "--json"]);
  if (reported.out === "") throw new Error(reported.note);
  const report = JSON.parse(reported.out) as ForgetReport;
  expect({ code: reported.code, found: report.found, underWay: report.underWay }, reported.note).toEqual({
    ...{ code: 0, found: [], underWay: 0 },
  });
  return report;
}

/** In tables and live values: all places of a word, with how often. */
async function locationsOf(word: string): Promise<Record<string, number>> {
  const locations = await tablesWith(system.session, word);
  for (const name of ["response-cache", "examples", "documents"] as const) {
    const count = await live(name, word);
    if (count > 0) locations[`topic ${name}`] = count;
  }
  return locations;
}

const [erased, neighbour] = words.globex;

test("--request: of the one request nothing is found, its tenant's other one and other tenants lose nothing", async () => {
  const others = [neighbour, ...words.acme];
  const before = await Promise.all(others.map(locationsOf));
  const report = await forget("--request", ids.get(erased)!);
  expect(report.requests).toBe(1);
  expect(report.removed).toMatchObject({
    cacheEntries: 1,
    documents: 0,
    rows: { requests: 1, responses: 1, feedback: 1 },
  });
  expect(await locationsOf(erased)).toEqual({});
  expect(await Promise.all(others.map(locationsOf))).toEqual(before);
}, 120_000);

test("--tenant: of all that the tenant asked, said and handed in nothing is found, others lose nothing", async () => {
  const before = await locationsOf(neighbour);
  const report = await forget("--tenant", "acme");
  expect(report.requests).toBe(2);
  expect(report.removed).toMatchObject({
    cacheEntries: 2,
    documents: 1,
    rows: { requests: 2, responses: 2, feedback: 2 },
  });
  expect(await Promise.all(words.acme.map(locationsOf))).toEqual([{}, {}]);
  expect(await locationsOf(neighbour)).toEqual(before);
}, 120_000);

test("once no process has the pools open, their files hold no byte of it either", async () => {
  await system.stages.stop();
  // Until now pages that LMDB has free may have it: the report says so.
  const report = await forget("--tenant", "acme");
  expect(report.remains.filter(({ location, count }) => location.startsWith("pool ") && count !== 0)).toEqual([]);
  await forget("--request", ids.get(erased)!);
  for (const word of [erased, ...words.acme]) expect([word, await inFiles(word)]).toEqual([word, []]);
}, 120_000);
