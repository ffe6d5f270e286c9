// curate on a real system: from feedback to an example that helps, and out again; personal data,
// privacy, repeats, restarts.
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { v7 as uuid } from "uuid";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decayedGain, useGain } from "../../bench/support/gain.ts";
import { openSession } from "../../pipelines/session.ts";
import { startStages } from "../../pipelines/up.ts";
import { createLog } from "../../runtime/log.ts";
import { plainExample } from "../../schemas/example.testing.ts";
import { plainFeedback } from "../../schemas/plain-feedback.ts";
import type { Example, Feedback, Request, Response } from "../../schemas/types.ts";
import { eventually, requestOf, startSystem, type TestSystem } from "../support/system.ts";

// Far apart for the embedder, so that only what is meant to be alike is.
const topics =
  "compress a folder with tar|show free disk space|count lines of a file|rename all pictures|kill a process by name|list open network ports|print the calendar of this month|sort numbers in reverse|download a web page|change the owner of a folder|find duplicate files|mount an iso image|show the kernel version|encrypt a file with gpg|schedule a job every night|watch the memory usage|convert a video to mp4|merge two branches in git|start a docker container|set an environment variable".split(
    "|",
  );
const answerTo = (question: string): string => `answer: ${question}`;

let system: TestSystem;
let curator: Curator;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "precedent-curate-"));
  const file = join(folder, "log.jsonl");
  const questions = [
    ...topics,
    ...topics.map((topic) => `please ${topic}`),
    "send the report to ann.lee@company.com",
    "keep this to yourself",
  ];
  await writeFile(
    file,
    questions.map((request) => JSON.stringify({ request, response: answerTo(request) })).join("\n"),
  );
  const input = {
    arms: [
      { name: "small", type: "recorded", file, cost: 0.2 },
      { name: "large", type: "recorded", file, cost: 1 },
    ],
    kafka: { partitions: 2 },
    learn: { everyMs: 300 },
    curate: { everyMs: 100, admit: { minimumQuality: 0.8, nearDuplicate: 0.9 } },
  };
  system = await startSystem(input, { stages: ["plan", "generate", "record", "learn"] });
  curator = await startCurator();
});
afterAll(async () => {
  await curator.stop();
  await system.stop();
});

interface Curator {
  active(): boolean;
  stop(): Promise<void>;
}
/** A process of its own as far as Kafka can tell. */
async function startCurator(): Promise<Curator> {
  const session = await openSession(system.config, { log: createLog({ level: "silent" }), clientId: "curator" });
  const stages = await startStages(session, { stages: ["curate"] });
  return {
    active: () => stages.reports()["curate"]?.partitions === 1,
    async stop() {
      await stages.stop();
      await session.close();
    },
  };
}

const rate = (requestId: string, value: number): Promise<string> => give(requestId, { kind: "reward", value });

async function give(requestId: string, feedback: Partial<Feedback>): Promise<string> {
  const { kafka, codec, topic } = system.session;
  const producer = kafka.plainProducer();
  const record = plainFeedback({ id: uuid(), requestId, kind: "reward", createdAt: Date.now(), ...feedback });
  await producer.send([{ topic: topic("feedback"), key: requestId, value: codec.encode("feedback", record) }]);
  await producer.close();
  return record.id;
}
const askAndRate = async (question: string, value: number, request: Partial<Request> = {}): Promise<Response> => {
  const response = await system.ask(question, {
    allow: { arms: ["large"], maxCost: null, deadlineMs: null, costWeight: null },
    ...request,
  });
  await rate(response.requestId, value);
  return response;
};
const admission = (requestId: string, source?: string) =>
  eventually("the decision on a candidate", async () => {
    const rows = await system.session.clickhouse.query<{ outcome: string; reason: string; id: string; domain: string }>(
      "SELECT outcome, reason, example_id AS id, domain FROM admissions FINAL WHERE request_id = {id:String} AND source = {source:String}",
      { id: requestId, source: source ?? "response" },
    );
    return rows[0];
  });
/** Everything that was ever put on the topic, by key. */
async function exampleRecords(): Promise<Map<string, (Example | null)[]>> {
  const { kafka, codec, topic } = system.session;
  const found = new Map<string, (Example | null)[]>();
  const seen = new Set<string>();
  const reader = kafka.readTopic(topic("examples"), async (records, partition) => {
    for (const { key, value, offset } of records) {
      if (seen.has(`${partition}/${offset}`)) continue;
      seen.add(`${partition}/${offset}`);
      const decoded = value === null ? null : await codec.decode("examples", value);
      const name = key?.toString() ?? "";
      found.set(name, [...(found.get(name) ?? []), decoded?.ok ? decoded.value : null]);
    }
  });
  await reader.caughtUp;
  await reader.stop();
  return found;
}
const shownTo = (response: Response) =>
  eventually("the decision", async () => {
    const rows = await system.session.clickhouse.query<{ ids: string[] }>(
      "SELECT arms[1].examples.id AS ids FROM decisions FINAL WHERE request_id = {id:String}",
      { id: response.requestId },
    );
    return rows[0]?.ids;
  });

describe("from feedback to example", () => {
  test("a good answer is admitted and helps the next question; after a bad word it leaves", async () => {
    const [question = ""] = topics;
    const good = await askAndRate(question, 1);
    const { id, ...decided } = await admission(good.requestId);
    expect(decided).toEqual({ outcome: "admitted", reason: "", domain: "default/default" });
    await eventually("the example is shown", async () => {
      const shown = await shownTo(await system.ask(question));
      return shown.includes(id) ? shown : undefined;
    });
    // The newest of a source and kind counts.
    await rate(good.requestId, 0);
    await eventually("the withdrawal", async () => {
      const { outcome } = await admission(good.requestId);
      return outcome === "withdrawn" ? outcome : undefined;
    });
    await eventually("the example is gone", async () => {
      const shown = await shownTo(await system.ask(question));
      return shown.includes(id) ? undefined : true;
    });
    const [row] = await eventually("the tombstone in ClickHouse", async () => {
      const rows = await system.session.clickhouse.query<{ deleted: boolean; request: string }>(
        "SELECT deleted, request FROM examples FINAL WHERE example_id = {id:String}",
        { id },
      );
      return rows[0]?.deleted === true ? rows : undefined;
    });
    expect(row).toEqual({ deleted: true, request: "" });
  });

  test("poor and private answers are not kept, personal data is replaced, of near duplicates the better stays", async () => {
    const poor = await askAndRate(topics[1] ?? "", 0.3);
    const secret = await askAndRate("keep this to yourself", 1, {
      privacy: { cache: true, share: false, fresh: false },
    });
    const personal = await askAndRate("send the report to ann.lee@company.com", 1);
    expect(await admission(poor.requestId)).toMatchObject({ outcome: "refused", reason: "quality" });
    expect(await admission(secret.requestId)).toMatchObject({ outcome: "refused", reason: "private" });
    const kept = await admission(personal.requestId);
    expect(kept).toMatchObject({ outcome: "admitted" });

    const [, , first = ""] = topics;
    const one = await admission((await askAndRate(first, 0.9)).requestId);
    const worse = await admission((await askAndRate(`please ${first}`, 0.85)).requestId);
    expect(worse).toMatchObject({ outcome: "refused", reason: "near_duplicate", id: one.id });
    const better = await admission((await askAndRate(`please ${first}`, 1)).requestId);
    expect(better).toMatchObject({ outcome: "replaced" });

    const records = await exampleRecords();
    expect(records.get(`default/default/${kept.id}`)).toMatchObject([
      { request: "send the report to <EMAIL_1>", response: "answer: send the report to <EMAIL_1>" },
    ]);
    expect(records.get(`default/default/${one.id}`)?.at(-1)).toBeNull();
    expect(records.get(`default/default/${better.id}`)).toHaveLength(1);
    expect(JSON.stringify([...records])).not.toMatch(/ann\.lee|keep this to yourself/);
  });

  test("what a person would have answered becomes an example in the place of the answer, and goes when it is taken back", async () => {
    const response = await system.ask(topics[3] ?? "");
    const { requestId } = response;
    await rate(requestId, 1);
    expect(await admission(requestId)).toMatchObject({ outcome: "admitted" });
    const correction = await give(requestId, { kind: "correction", text: "the right command" });
    const { id, ...decided } = await admission(requestId, "correction");
    expect(decided).toMatchObject({ outcome: expect.stringMatching(/^(admitted|replaced)$/), reason: "" });
    const records = await exampleRecords();
    expect(records.get(`default/default/${id}`)).toMatchObject([
      { response: "the right command", source: { arm: "person", requestId }, quality: 1 },
    ]);
    await give(requestId, { kind: "thumbs", value: null, withdraws: correction });
    await eventually("the withdrawal of the correction", async () => {
      const now = await admission(requestId, "correction");
      return now.outcome === "withdrawn" ? now : undefined;
    });
  });

  test("a pair from another system is admitted by the same rules", async () => {
    const { kafka, codec, topic } = system.session;
    const producer = kafka.plainProducer();
    const observe = async (question: string, quality: number | null): Promise<string> => {
      const request = requestOf(question);
      const source = { arm: "elsewhere", model: "other", requestId: request.id };
      const record = {
        tenant: "default",
        domain: "ops",
        request,
        text: "from outside",
        source,
        quality,
        createdAt: Date.now(),
      };
      await producer.send([
        { topic: topic("observations"), key: request.id, value: codec.encode("observations", record) },
      ]);
      return request.id;
    };
    const ids = [await observe("reboot the router", 1), await observe("flash the firmware", null)];
    await producer.close();
    expect(await admission(ids[0] ?? "", "observation")).toMatchObject({ outcome: "admitted", domain: "default/ops" });
    expect(await admission(ids[1] ?? "", "observation")).toMatchObject({ outcome: "refused", reason: "unrated" });
  });
});

test("G(e) in ClickHouse equals its definition", async () => {
  const { clickhouse } = system.session;
  const used = await askAndRate(`please ${topics[2] ?? ""}`, 0.25);
  await admission(used.requestId); // rated and recorded
  await system.ask(`please ${topics[2] ?? ""}`);
  const [row] = await eventually("gains", async () => {
    const rows = await clickhouse.query<{ hour: number }>(
      "SELECT toUnixTimestamp(max(as_of)) / 3600 AS hour FROM example_gain",
    );
    return (rows[0]?.hour ?? 0) > 0 ? rows : undefined;
  });
  const uses = await clickhouse.query<{ id: string; hour: number; cost: number; mean: number; reward: number | null }>(
    `SELECT used.example_id AS id, intDiv(toUnixTimestamp(used.created_at), 3600) AS hour, used.arm_cost AS cost, used.arm_mean AS mean, outcome.reward AS reward
     FROM (SELECT * FROM example_uses FINAL) AS used
     INNER JOIN outcomes AS outcome ON outcome.request_id = used.request_id AND outcome.tenant = used.tenant
     WHERE outcome.status = 'ok'`,
  );
  expect(uses.length).toBeGreaterThan(0);
  const gains = await clickhouse.query<{ id: string; gain: number }>("SELECT example_id AS id, gain FROM example_gain");
  expect(gains.length).toBeGreaterThan(0);
  for (const { id, gain } of gains) {
    const totals = uses
      .filter((use) => use.id === id)
      .map(({ hour, cost, mean, reward }) => ({ hour, total: useGain(reward ?? mean, cost) }));
    expect(gain).toBeCloseTo(decayedGain(totals, row?.hour ?? 0), 9);
  }
});

test("an expired example leaves the topic and the table", async () => {
  const { kafka, codec, topic, clickhouse } = system.session;
  const producer = kafka.plainProducer();
  const example = plainExample({
    id: "e".repeat(32),
    tenant: "default",
    domain: "default/default",
    request: "old",
    response: "older",
    embedding: Buffer.alloc(1536),
    embeddingModel: "another",
    source: { arm: "import", model: "m", requestId: null },
    bytes: 10,
    expiresAt: Date.now() - 1,
    createdAt: Date.now() - 1_000,
  });
  const key = `${example.domain}/${example.id}`;
  await producer.send([{ topic: topic("examples"), key, value: codec.encode("examples", example) }]);
  await producer.close();
  await eventually("the tombstone", async () => {
    const rows = await clickhouse.query<{ deleted: boolean }>(
      "SELECT deleted FROM examples FINAL WHERE example_id = {id:String}",
      { id: example.id },
    );
    return rows[0]?.deleted === true ? true : undefined;
  });
  expect((await exampleRecords()).get(key)?.at(-1)).toBeNull();
});

test("two processes: one is active; when it goes in the middle the other goes on, and nothing is skipped or done twice", async () => {
  const before = await exampleRecords();
  const other = await startCurator();
  await eventually("one of the two is active", () =>
    Promise.resolve(curator.active() !== other.active() ? true : undefined),
  );
  const rest = topics.slice(4);
  const rated: Response[] = [];
  for (const [index, question] of rest.entries()) {
    rated.push(await askAndRate(question, 1));
    if (index !== 7) continue;
    // The active one, in the middle of its work.
    const [going, staying] = curator.active() ? [curator, other] : [other, curator];
    await going.stop();
    curator = staying;
  }
  const decisions = await Promise.all(rated.map(({ requestId }) => admission(requestId)));
  expect(decisions.map(({ outcome }) => outcome)).toEqual(rest.map(() => "admitted"));
  const records = await exampleRecords();
  const added = [...records].filter(([key]) => !before.has(key));
  expect(added).toHaveLength(rest.length);
  expect(added.filter(([, versions]) => versions.length !== 1)).toEqual([]);
}, 180_000);
