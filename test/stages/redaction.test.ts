// privacy.redact on the running system. In ClickHouse: what a person wrote, was answered and said
// of it is in no column of any table, and clients get what they would have got; examples are made
// of it as ever, and precedent forget finds everything. In responses: nothing personal goes out,
// by whatever way.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { v7 as uuid } from "uuid";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stageNames } from "../../pipelines/up.ts";
import { runCommand } from "../../cli/run.testing.ts";
import type { Feedback, Request } from "../../schemas/types.ts";
import type { ForgetReport } from "../../analysis/forget/report.ts";
import { rowsWith, tablesWith } from "../support/found.ts";
import { feedbackOf } from "../support/learning.ts";
import { requestOf, startSystem, type TestSystem } from "../support/system.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

const secret = "sixteen characters or more";
const user = "ann.zebrafinch@mailbox.com";
/** Parts of the person's name, mailbox, phone and card. */
const markers = ["ebrafinch", "7946 0958", "4111 1111"];
const person = `My name is Ann Zebrafinch, ${user}, +44 20 7946 0958, card 4111 1111 1111 1111.`;
const answerTo = (question: string): string =>
  question.includes(user)
    ? `Dear Ann Zebrafinch,\nwe write to ${user} about: ${question}`
    : `a plain answer: ${question}`;

const params = { maxTokens: null, temperature: null, topP: null, seed: null, stop: [] };
const personal = (more: Partial<Request> = {}): Partial<Request> => ({
  ...{ tenant: "acme", domain: "birds", metadata: { user, note: `of ${user}` }, params: { ...params, stop: [user] } },
  ...more,
});
const arm = (baseUrl: string, more: object = {}): object => ({
  ...{ type: "openai", baseUrl, stream: false, retries: 0, prices: { prompt: 1_000, completion: 2_000 } },
  ...{ name: "queued", model: "m", dispatch: "queued", ...more },
});

describe("in ClickHouse", () => {
  let folder: string;
  let system: TestSystem;
  let upstream: Upstream;
  const first = requestOf(`${person} Where does it sleep?`, personal({ id: "first" }));

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "precedent-redaction-"));
    upstream = await startUpstream("model", answerTo);
    system = await startSystem(
      {
        arms: [arm(upstream.baseUrl)],
        cache: { enabled: true },
        privacy: { redact: { clickhouse: true, secret } },
        record: { batchMs: 100 },
        learn: { everyMs: 300, settleMs: 0 },
        curate: { everyMs: 300, admit: { minimumQuality: 0.8 } },
        kafka: { partitions: 2 },
      },
      { stages: ["plan", "generate", "record", "learn", "curate"] },
    );
    await writeFile(join(folder, "precedent.yaml"), JSON.stringify({ ...system.config, instance: undefined }));
  }, 120_000);
  afterAll(async () => {
    await system.stop();
    upstream.close();
    await rm(folder, { recursive: true, force: true });
  });

  const say = async (requestId: string, more: Partial<Feedback>): Promise<void> => {
    const { kafka, codec, topic } = system.session;
    const producer = kafka.plainProducer();
    const reported = { id: uuid(), tenant: "acme", author: user, comment: person, createdAt: Date.now(), ...more };
    const value = codec.encode("feedback", feedbackOf(requestId, reported));
    await producer.send([{ topic: topic("feedback"), key: requestId, value }]);
    await producer.close();
  };
  const inClear = async (): Promise<object[]> => {
    const found = await Promise.all(markers.map((marker) => tablesWith(system.session, marker)));
    return found.filter((tables) => Object.keys(tables).length > 0);
  };
  const query = <T>(sql: string): Promise<T[]> => system.session.clickhouse.query<T>(sql);

  test("a person is in no column of any table, and is one and the same within a request", async () => {
    const answered = system.response("first");
    await system.produce([first]);
    expect((await answered).text).toBe(answerTo(first.messages[0]!.content));
    await say("first", { kind: "reward", value: 1 });
    await say("first", { kind: "correction", text: `It sleeps at ${user}.` });
    const producer = system.session.kafka.plainProducer();
    // An undecodable record.
    const letter = Buffer.from(`{"user":"${user}","text":"${person}"}`);
    await producer.send([{ topic: system.session.topic("requests"), key: null, value: letter }]);
    await producer.close();
    await system.eventually("all of it is recorded", async () => {
      const counts = await Promise.all(
        ["requests", "responses", "feedback", "dead_letters", "examples"].map((table) =>
          query<{ n: number }>(`SELECT count() AS n FROM ${table}`),
        ),
      );
      const [requests, responses, feedback, letters, examples] = counts.map(([row]) => Number(row!.n));
      return requests! > 0 && responses! > 0 && feedback === 2 && letters! > 0 && examples! > 0 ? true : undefined;
    });
    expect(await inClear()).toEqual([]);
    const [row] = await query<{ question: string; text: string; redacted: boolean }>(
      `SELECT request.question AS question, response.text AS text, redacted
       FROM requests AS request INNER JOIN responses AS response USING (request_id)`,
    );
    const mail = /<EMAIL_\d{9}>/.exec(row!.question)![0];
    expect(row!.question).toMatch(/^My name is <NAME_\d{9}>, <EMAIL_\d{9}>, <PHONE_\d{9}>, card <CARD_\d{9}>\. Where/);
    expect(row!.text).toContain(`we write to ${mail} about`);
    expect(row!.redacted).toBe(true);
  });

  test("examples are made of it, with placeholders as if it had not been", async () => {
    const examples = await system.eventually("the correction", async () => {
      const rows = await query<{ request: string; response: string }>(
        "SELECT request, response FROM examples FINAL WHERE NOT deleted AND startsWith(response, 'It sleeps')",
      );
      return rows.length > 0 ? rows : undefined;
    });
    expect(examples).toEqual([
      {
        request: "My name is <NAME_1>, <EMAIL_1>, <PHONE_1>, card <CARD_1>. Where does it sleep?",
        response: "It sleeps at <EMAIL_1>.",
      },
    ]);
  });

  test("repeats by id and followers get the answer as it was, by one call; so does the cache", async () => {
    const { length: before } = upstream.asked;
    await system.produce([first]);
    await system.eventually("the repeat's answer", () =>
      Promise.resolve(system.responses.get("first")!.length === 2 ? true : undefined),
    );
    expect(system.responses.get("first")![1]).toMatchObject({
      ...{ status: "ok", duplicate: true, cost: 0, text: answerTo(first.messages[0]!.content) },
    });
    expect(upstream.asked.length).toBe(before);

    upstream.behave("hold");
    const ids = Array.from({ length: 5 }, (_, i) => `follower-${i}`);
    const asked = `${person} And in summer?`;
    await system.produce(ids.map((id) => requestOf(asked, personal({ id }))));
    await system.eventually("the call", () => Promise.resolve(upstream.asked.includes(asked) ? true : undefined));
    upstream.behave("healthy");
    upstream.release("healthy");
    const answers = await Promise.all(ids.map((id) => system.response(id)));
    expect(answers.map(({ text }) => text)).toEqual(ids.map(() => answerTo(asked)));
    expect(upstream.asked.filter((one) => one === asked)).toHaveLength(1);

    const plain = "What is a bird?";
    expect(await system.ask(plain, personal())).toMatchObject({ source: "generated" });
    await system.eventually("a hit", async () =>
      (await system.ask(plain, personal())).source === "cache" ? true : undefined,
    );
    expect(await inClear()).toEqual([]);
  });

  test("precedent forget finds all of the user", async () => {
    const reported = await runCommand(folder, ["forget", "--tenant", "acme", "--user", user, "--json"]);
    const report = JSON.parse(reported.out) as ForgetReport;
    expect({ code: reported.code, found: report.found }, reported.note).toEqual({ code: 0, found: [] });
    expect(report.removed.rows).toMatchObject({ dead_letters: 1, feedback: 2 });
    expect(report.removed.examples).toBeGreaterThan(0);
    for (const table of ["requests", "responses", "feedback", "decisions"])
      expect(await rowsWith(system.session, table, "follower-")).toBe(0);
    const [left] = await query<{ n: number }>("SELECT count() AS n FROM dead_letters");
    expect(left!.n).toBe(0);
    for (const table of ["requests", "responses", "feedback"])
      expect(await query(`SELECT 1 FROM ${table} WHERE request_id = 'first'`)).toEqual([]);
  }, 120_000);

  test("feedback of an author is withdrawn by the author's name, under which none is recorded", async () => {
    const { requestId } = await system.ask("What is a nest?", personal({ metadata: {} }));
    await say(requestId, { kind: "reward", value: 1 });
    const counted = (): Promise<{ n: number }[]> => query("SELECT countIf(uncounted = '') AS n FROM feedback_status");
    await system.eventually("it counts", async () => ((await counted())[0]!.n === 1 ? true : undefined));
    const { code, out, note } = await runCommand(folder, ["feedback", "withdraw", "--author", user]);
    expect({ code, ids: out.trim().split("\n").length }, note).toEqual({ code: 0, ids: 1 });
    await system.eventually("it counts no more", async () => ((await counted())[0]!.n === 0 ? true : undefined));
    expect(await inClear()).toEqual([]);
  });
});

describe("in responses", () => {
  let system: TestSystem;
  let upstream: Upstream;
  let client: OpenAI;

  beforeAll(async () => {
    upstream = await startUpstream("model", answerTo);
    system = await startSystem(
      {
        arms: [arm(upstream.baseUrl), arm(upstream.baseUrl, { name: "inline", dispatch: "inline" })],
        privacy: { redact: { responses: true, secret } },
        record: { batchMs: 100 },
      },
      { stages: stageNames.filter((name) => name !== "learn" && name !== "curate") },
    );
    client = new OpenAI({ baseURL: system.stages.baseUrl ?? "", apiKey: "none", maxRetries: 0 });
  }, 120_000);
  afterAll(async () => {
    await system.stop();
    upstream.close();
  });

  const clean = /^Dear <NAME_\d{9}>,\nwe write to <EMAIL_\d{9}> about: My name is <NAME_\d{9}>, /;

  test.each(["queued", "inline"])("nothing personal goes out of an arm that is %s, streamed or not", async (model) => {
    const messages = [{ role: "user" as const, content: `${person} By ${model}?` }];
    const headers = { "idempotency-key": `key-${model}` };
    const { choices } = await client.chat.completions.create({ model, messages }, { headers });
    const text = choices[0]!.message.content!;
    expect(text).toMatch(clean);
    for (const marker of markers) expect(text).not.toContain(marker);
    const again = await client.chat.completions.create({ model, messages }, { headers });
    expect(again.choices[0]!.message.content).toBe(text);

    let streamed = "";
    for await (const { choices: pieces } of await client.chat.completions.create({ model, messages, stream: true }))
      streamed += pieces[0]?.delta.content ?? "";
    expect(streamed).toMatch(clean);
    for (const marker of markers) expect(streamed).not.toContain(marker);
    const responses = [...system.responses.values()].flat();
    expect(JSON.stringify(responses)).not.toContain("ebrafinch");
  });
});
