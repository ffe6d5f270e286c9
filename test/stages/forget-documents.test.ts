// precedent forget --tenant and plan's copies of documents on disk: that of a plan process which
// was killed with -9 goes; that of one which runs holds none of the tenant's, and the report says
// until when its free pages may.
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSession, type Session } from "../../pipelines/session.ts";
import { putDocuments } from "../../cli/documents.ts";
import { runCommand } from "../../cli/run.testing.ts";
import { createLog } from "../../runtime/log.ts";
import type { ForgetReport } from "../../analysis/forget/report.ts";
import { filesWithWord } from "../support/found.ts";
import { eventually, testConfig } from "../support/system.ts";
import { createWorkers, type Workers } from "../support/workers.ts";

const words = { acme: "zebrafinch", globex: "albatross" };

let folder: string;
let session: Session;
let workers: Workers;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-forget-documents-"));
  const log = join(folder, "log.jsonl");
  await writeFile(log, JSON.stringify({ request: "a", response: "b" }));
  const config = testConfig(
    { arms: [{ name: "only", type: "recorded", file: log, cost: 0.2 }] },
    join(folder, "stack"),
  );
  await writeFile(join(folder, "precedent.yaml"), JSON.stringify(config));
  session = await openSession(config, { log: createLog({ level: "silent" }), clientId: "test" });
  workers = createWorkers(config, folder);
  const createdAt = Date.now();
  const documents = Object.entries(words).map(([tenant, word]) => ({
    ...{ tenant, id: "guide", title: null, expiresAt: null, text: `All about the ${word}. `.repeat(200), createdAt },
  }));
  await putDocuments(session, documents);
  await Promise.all(["dies", "lives"].map((instance) => workers.start("plan", instance)));
  for (const instance of ["dies", "lives"])
    for (const word of Object.values(words))
      await eventually(`${word} on the disk of ${instance}`, async () => {
        return (await filesWithWord(copyOf(instance), word)).length > 0 ? true : undefined;
      });
}, 180_000);
afterAll(async () => {
  await workers.stop();
  await session.clickhouse.command(`DROP DATABASE IF EXISTS ${session.config.clickhouse.database}`);
  await session.close();
  await rm(folder, { recursive: true, force: true });
});

const copies = (): string => join(session.config.stack.folder, "documents");
const copyOf = (instance: string): string => join(copies(), instance);

async function forget(...more: string[]): Promise<ForgetReport> {
  const reported = await runCommand(folder, ["forget", "--tenant", "acme", "--json", ...more]);
  if (reported.out === "") throw new Error(reported.note);
  expect(reported.code, reported.note).toBe(0);
  return JSON.parse(reported.out) as ForgetReport;
}

test("what a killed plan process left behind is found, and erased; what a living one has is said", async () => {
  await workers.kill("dies");
  expect(await filesWithWord(copyOf("dies"), words.acme)).not.toEqual([]);

  const before = await forget("--dry-run");
  expect(before.found).toContainEqual({ location: `documents ${copyOf("dies")}`, count: 1 });
  expect(await readdir(copies())).toEqual(["dies", "lives"]);

  const { found, removed, searched, remains } = await forget();
  expect({ found, documents: removed.documents, leftBehind: removed.leftBehind }).toEqual({
    ...{ found: [], documents: 1, leftBehind: 1 },
  });
  expect(searched.folders).toContain(copies());
  expect(await readdir(copies())).toEqual(["lives"]);
  // The tenant's document is gone from the table; LMDB leaves its bytes.
  expect(remains.filter(({ location }) => location.startsWith("documents "))).toEqual([
    {
      ...{ location: `documents ${copyOf("lives")}`, count: 1, until: null },
      why: "free pages; until its process stops, or starts again where it is killed",
    },
  ]);
  expect(await filesWithWord(copyOf("lives"), words.globex)).not.toEqual([]);
}, 120_000);

test("killed after the erasure it leaves bytes that the next one finds", async () => {
  await workers.kill("lives");
  expect(await filesWithWord(copies(), words.acme)).not.toEqual([]);
  const { found, removed, remains } = await forget();
  expect({ found, leftBehind: removed.leftBehind }).toEqual({ found: [], leftBehind: 1 });
  expect(remains.filter(({ location }) => location.startsWith("documents "))).toEqual([]);
  expect(await filesWithWord(session.config.stack.folder, words.acme)).toEqual([]);
}, 120_000);
