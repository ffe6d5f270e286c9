// A log replay has the examples and documents of the window's beginning, not those of now: what was
// removed or changed since comes back from the topics, what was erased does not, what came since is
// not there.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { embeddingToBytes } from "../../algorithms/selection/embedding.ts";
import { erasedRequest } from "../../algorithms/privacy/erasure.ts";
import type { LogReplayReport } from "../../analysis/log-replay/run.ts";
import { putDocuments } from "../../cli/documents.ts";
import { runCommand } from "../../cli/run.testing.ts";
import type { RecordOf } from "../../schemas/records.ts";
import type { Document, Example } from "../../schemas/types.ts";
import { exampleMessages } from "../../pipelines/curate/example-messages.ts";
import { experiment } from "../../config/sections/experiments.ts";
import { policiesAt } from "../../analysis/log-replay/prepare.ts";
import { eventually, startSystem, type TestSystem } from "../support/system.ts";

let folder: string;
let system: TestSystem;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-log-replay-as-of-"));
  const file = join(folder, "answers.jsonl");
  await writeFile(file, JSON.stringify({ request: "How many files are there?", response: "ls | wc -l" }));
  system = await startSystem(
    { arms: [{ name: "small", type: "recorded", file, cost: 1 }], kafka: { partitions: 2 } },
    { stages: ["plan", "generate", "record"] },
  );
  await writeFile(join(folder, "precedent.yaml"), JSON.stringify({ ...system.config, instance: undefined }));
});
afterAll(async () => {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

const domain = "default/default";
const example = (id: string, quality: number): Example => ({
  ...{ id, tenant: "default", domain, request: `request ${id}`, response: `response ${id}`, quality },
  embedding: embeddingToBytes(Float32Array.from({ length: 384 }, (_, i) => (i === 0 ? 1 : 0))),
  embeddingModel: "none",
  source: { arm: "small", model: "small", requestId: `asked-${id}` },
  ...{ bytes: 100, expiresAt: null, replays: 0, shown: 0, createdAt: Date.now() },
});
const document = (id: string, text: string): Document => ({
  ...{ tenant: "default", id, text, title: null, expiresAt: null, createdAt: Date.now() },
});

async function put(...changes: { id: string; value: Example | null }[]): Promise<void> {
  const messages = await exampleMessages(
    system.session,
    changes.map((change) => ({ ...change, domain })),
  );
  const producer = system.session.kafka.plainProducer();
  await producer.send(messages);
  await producer.close();
}
const rows = () =>
  system.session.clickhouse.query<{ id: string; quality: number }>(
    "SELECT example_id AS id, quality FROM examples FINAL WHERE NOT deleted ORDER BY id",
  );
/** The newest values of a compacted topic. */
async function heldBy<N extends "examples" | "documents">(prefix: string, name: N): Promise<Map<string, RecordOf[N]>> {
  const { kafka, codec } = system.session;
  const held = new Map<string, RecordOf[N]>();
  const reader = kafka.readTopic(`${prefix}${name}`, async (records) => {
    for (const { key, value } of records) {
      const found = value === null ? null : await codec.decode(name, value);
      if (found?.ok === true) held.set(key!.toString(), found.value);
      else held.delete(key!.toString());
    }
  });
  await reader.caughtUp;
  await reader.stop();
  return held;
}
const recorded = (what: string, wanted: unknown): Promise<true> =>
  eventually(what, async () => (JSON.stringify(await rows()) === JSON.stringify(wanted) ? true : undefined));

const policyRow = (version: number, at: number) => ({
  ...{ name: "threshold", tenant: "", version, kind: "threshold", body: "{}", feature_version: 0, created_at: at },
  ...{ kafka_timestamp: at, topic: "t", kafka_partition: 0, kafka_offset: version },
});

test("what was removed, changed or added since the window's beginning is as it was", async () => {
  const { session, config } = system;
  const first = ["changed", "erased", "kept", "removed", "undone"].map((id) => example(id, 0.5));
  await put(...first.map((value) => ({ id: value.id, value })));
  // Removed before the window began: that it is there again now changes nothing.
  await put({ id: "undone", value: null });
  await putDocuments(session, [document("manual", "of then"), document("gone", "of then")]);
  const then = ["changed", "erased", "kept", "removed"].map((id) => ({ id, quality: 0.5 }));
  await recorded("the examples of then", then);
  await session.clickhouse.insert("policies", [policyRow(1, Date.now())]);
  await sleep(20);
  const from = new Date().toISOString();
  await sleep(20);

  const askAbout = (...documents: string[]) =>
    system.eventually(`plan has ${documents.join(", ")}`, async () => {
      const { error } = await system.ask("How many files are there?", { documents });
      return error?.code === "unknown_document" ? undefined : true;
    });
  await askAbout("manual", "gone");
  await putDocuments(session, [document("manual", "of now"), document("late", "of now")]);
  const tombstones = session.kafka.plainProducer();
  await tombstones.send([{ topic: session.topic("documents"), key: "default/gone", value: null }]);
  await tombstones.close();
  await askAbout("late");
  await put(
    { id: "changed", value: { ...first[0]!, quality: 0.9 } },
    { id: "removed", value: null },
    { id: "erased", value: null },
    { id: "new", value: example("new", 0.7) },
    { id: "undone", value: example("undone", 0.6) },
  );
  await session.clickhouse.insert("policies", [policyRow(2, Date.now())]);
  // As precedent forget does, beside the tombstone.
  await session.clickhouse.insert("erasures", [
    { hash: erasedRequest("default", "asked-erased"), erasure_id: "e", before: null },
  ]);
  await recorded("the examples of now", [
    ...[
      { id: "changed", quality: 0.9 },
      { id: "kept", quality: 0.5 },
      { id: "new", quality: 0.7 },
    ],
    { id: "undone", quality: 0.6 },
  ]);
  await eventually("both requests recorded", async () => {
    const [row] = await session.clickhouse.query<{ n: number }>("SELECT count() AS n FROM responses FINAL");
    return row!.n === 2 ? true : undefined;
  });

  const at = Date.parse(from);
  expect((await policiesAt({ live: session.clickhouse, at }, [])).map(({ version }) => version)).toEqual([1]);
  const pinned = experiment.parse({ name: "two", variants: [{ name: "new" }, { name: "held", routerVersion: 7 }] });
  await expect(policiesAt({ live: session.clickhouse, at }, [pinned])).rejects.toThrow(
    "router@7: experiments name this, and it is not recorded as pinned",
  );

  const said = await runCommand(folder, ["log-replay", "run", "--json", "--keep", "--from", from]);
  if (said.code !== 0) throw new Error(said.note);
  const report = JSON.parse(said.out) as LogReplayReport;
  const { requests, refused } = report.policies[0]!;
  expect({ requests, refused }).toEqual({ requests: 2, refused: {} });
  const prefix = `${config.kafka.prefix}log-replay-${report.id}.1.`;
  const examples = await heldBy(prefix, "examples");
  expect(Object.fromEntries([...examples].map(([key, { quality }]) => [key, quality]))).toEqual(
    Object.fromEntries(then.filter(({ id }) => id !== "erased").map(({ id, quality }) => [`${domain}/${id}`, quality])),
  );
  expect(examples.get(`${domain}/removed`)!.createdAt).toBe(first[3]!.createdAt + report.shiftMs);
  // undone was made anew since and is not taken from the table; erased is not to be had.
  expect(report.examples).toEqual({ taken: 2, restored: 2, asOfNow: 0, gone: 1 });
  const documents = await heldBy(prefix, "documents");
  expect(Object.fromEntries([...documents].map(([key, { text }]) => [key, text]))).toEqual({
    "default/manual": "of then",
    "default/gone": "of then",
    "default/late": "of now",
  });
  expect(await runCommand(folder, ["log-replay", "remove", report.id])).toMatchObject({ code: 0 });
});
