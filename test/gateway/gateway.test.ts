// The gateway on the real stack, asked by OpenAI's own client and by plain HTTP: answers, errors
// and models in OpenAI's format, a repeat of a key is answered by the first response, feedback and
// reasons belong to their tenant, and no body brings it to a 500.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stageNames } from "../../pipelines/up.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const execute = promisify(execFile);
let folder: string;
let model: TestModel;
let system: TestSystem;
let baseURL: string;
let client: OpenAI;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-gateway-"));
  const file = join(folder, "log.jsonl");
  await writeFile(file, JSON.stringify({ request: "count the lines", response: "wc -l file" }));
  model = await startModel();
  system = await startSystem(
    {
      arms: [
        { name: "recorded", type: "recorded", file, cost: 0 },
        {
          ...{ name: "mock", type: "openai", baseUrl: model.baseUrl, model: "mock-1", cost: 1, retries: 0 },
          ...{ prices: { prompt: 1, completion: 2 }, dispatch: "queued", tools: false },
        },
        {
          name: "retried",
          type: "openai",
          baseUrl: model.baseUrl,
          model: "mock-2",
          retries: 2,
          cost: 1,
          dispatch: "queued",
          tools: false,
        },
        {
          name: "inline",
          type: "openai",
          baseUrl: model.baseUrl,
          model: "mock-1",
          dispatch: "inline",
          retries: 0,
          cost: 1,
          tools: false,
        },
      ],
      gateway: { maxBodyBytes: 65_536, heartbeatMs: 3_000 },
    },
    { stages: stageNames.filter((name) => name !== "learn" && name !== "curate") },
  );
  baseURL = system.stages.baseUrl ?? "";
  client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
});
afterAll(async () => {
  await system.stop();
  await model.stop();
  await rm(folder, { recursive: true, force: true });
});

const user = (content: string) => [{ role: "user" as const, content }];
const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${baseURL}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

describe("a chat completion", () => {
  test("by OpenAI's client: text, usage, finish reason, and ours in headers and fields", async () => {
    const { data, response } = await client.chat.completions
      .create({ model: "recorded", messages: user("count the lines") })
      .withResponse();
    expect(data).toMatchObject({
      object: "chat.completion",
      choices: [{ message: { role: "assistant", content: "wc -l file" }, finish_reason: "stop" }],
      precedent: { arm: "recorded", source: "generated", duplicate: false },
    });
    expect(data.usage?.total_tokens).toBeGreaterThan(0);
    const id = response.headers.get("x-precedent-request-id");
    expect(data.id).toBe(`chatcmpl-${id}`);
    expect(response.headers.get("x-precedent-arm")).toBe("recorded");
  });

  test("by the name of the model behind an arm; parameters reach it, the cost comes back", async () => {
    const { data, response } = await client.chat.completions
      .create({ model: "mock-1", messages: user("echo"), max_tokens: 9, temperature: 0.25, seed: 4, stop: ["X"] })
      .withResponse();
    expect(data.choices[0]?.message.content).toBe("echo");
    expect(["mock", "inline"]).toContain(response.headers.get("x-precedent-arm"));
    expect(model.received().at(-1)).toMatchObject({ max_tokens: 9, temperature: 0.25, seed: 4, stop: ["X"] });
    const priced = await client.chat.completions.create({ model: "mock", messages: user("priced") }).withResponse();
    expect(Number(priced.response.headers.get("x-precedent-cost"))).toBeGreaterThan(0);
  });

  test("by curl, as the documentation has it", async () => {
    const body = JSON.stringify({
      model: "auto",
      messages: user("count the lines"),
      precedent: { allow: { arms: ["recorded"] } },
    });
    const { stdout } = await execute("curl", [
      ...["-s", `${baseURL}/chat/completions`, "-H", "content-type: application/json", "-d", body],
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ choices: [{ message: { content: "wc -l file" } }] });
  });

  test("many at a time are answered each with its own answer", async () => {
    const questions = Array.from({ length: 60 }, (_, i) => `question ${i}`);
    const answers = await Promise.all(
      questions.map((question) => client.chat.completions.create({ model: "mock-1", messages: user(question) })),
    );
    expect(answers.map(({ choices }) => choices[0]?.message.content)).toEqual(questions);
  });
});

describe("a stream", () => {
  const long = Array.from({ length: 40 }, (_, i) => `word${i}`).join(" ");
  async function read(arm: string, content: string) {
    const stream = await client.chat.completions.create({
      ...{ model: arm, messages: user(content), stream: true, stream_options: { include_usage: true } },
    });
    const pieces: string[] = [];
    let usage: number | undefined;
    let finish: string | null | undefined;
    for await (const chunk of stream) {
      pieces.push(chunk.choices[0]?.delta.content ?? "");
      finish = chunk.choices[0]?.finish_reason ?? finish;
      usage = chunk.usage?.total_tokens ?? usage;
    }
    return { text: pieces.join(""), pieces: pieces.filter((piece) => piece !== "").length, usage, finish };
  }

  test.each(["mock", "inline", "recorded"])("of the arm %s is its whole answer, with usage at the end", async (arm) => {
    const question = arm === "recorded" ? "count the lines" : `slowly ${long}`;
    const { text, pieces, usage, finish } = await read(arm, question);
    expect(text).toBe(arm === "recorded" ? "wc -l file" : question);
    if (arm !== "recorded") expect(pieces).toBeGreaterThan(1);
    expect(finish).toBe("stop");
    expect(usage).toBeGreaterThan(0);
  });

  test("many at a time are each their own answer, word by word", async () => {
    const questions = Array.from({ length: 40 }, (_, i) => `slowly stream ${i} ${long}`);
    const streams = await Promise.all(questions.map((question) => read("mock-1", question)));
    expect(streams.map(({ text }) => text)).toEqual(questions);
  });

  test("that fails before its first word has its own status; a model that breaks off ends it in an error", async () => {
    await expect(read("mock", "fail")).rejects.toMatchObject({ status: 502 });
    await expect(read("mock", "break off in the middle")).rejects.toMatchObject({ code: "stream_cut" });
  });

  test("that is answered otherwise at the second attempt ends in an error, and says nothing twice", async () => {
    await expect(read("retried", `changes ${long}`)).rejects.toMatchObject({ code: "stream_changed" });
    expect(await read("retried", `resumes ${long}`)).toMatchObject({ text: `resumes ${long}`, finish: "stop" });
  });

  test("of a reader that goes costs nothing else: its place is free, and others are answered", async () => {
    const gone = Array.from({ length: 20 }, async () => {
      const controller = new AbortController();
      const body = JSON.stringify({
        model: "mock",
        stream: true,
        messages: user("hang"),
        precedent: { allow: { deadline_ms: 5_000 } },
      });
      const asked = fetch(`${baseURL}/chat/completions`, {
        ...{ method: "POST", headers: { "content-type": "application/json" }, body, signal: controller.signal },
      });
      setTimeout(() => controller.abort(), 200);
      await asked.catch(() => undefined);
    });
    await Promise.all(gone);
    await system.eventually("free slots", async () =>
      system.stages.reports()["gateway"]?.inFlight === 0 ? true : undefined,
    );
    expect((await read("inline", "hello again")).text).toBe("hello again");
  });

  test("has comments while nothing is said", async () => {
    const body = { model: "mock", stream: true, messages: user("hang"), precedent: { allow: { deadline_ms: 4_500 } } };
    const answered = await post("/chat/completions", body);
    const text = await answered.text();
    expect(answered.status).toBe(200);
    expect(text).toContain(": waiting");
    expect(text).toContain('"code":"deadline_exceeded"');
  });
});

describe("a key that is sent again", () => {
  const calls = (content: string): number =>
    model.received().filter(({ messages }) => (messages as { content: string }[])[0]?.content === content).length;
  const ask = (key: string, content: string) =>
    client.chat.completions
      .create({ model: "mock", messages: user(content) }, { headers: { "Idempotency-Key": key } })
      .withResponse();
  test("while it is open: the model is called once, both get its answer", async () => {
    const both = await Promise.all([ask("k1", "once"), ask("k1", "once")]);
    expect(new Set(both.map(({ data }) => data.id)).size).toBe(1);
    expect(calls("once")).toBe(1);
  });
  test("after it was answered: the copy of the first response, free; another question is refused", async () => {
    const first = await ask("k2", "once more");
    const again = await ask("k2", "once more");
    expect(again.data.id).toBe(first.data.id);
    expect(again.data.choices).toEqual(first.data.choices);
    expect([first, again].map(({ response }) => response.headers.get("x-precedent-duplicate"))).toEqual([null, "true"]);
    expect(calls("once more")).toBe(1);
    await expect(ask("k2", "something else")).rejects.toMatchObject({ status: 422, code: "id_reused" });
  });
});

describe("what is refused", () => {
  test("in OpenAI's format, as its client expects it", async () => {
    const wrong = (body: object) => client.chat.completions.create({ model: "auto", messages: user("x"), ...body });
    await expect(wrong({ model: "gpt-unknown" })).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    await expect(wrong({ temperature: 9 })).rejects.toMatchObject({ status: 400, param: "temperature" });
    await expect(wrong({ tools: [{ type: "function", function: { name: "f" } }] })).rejects.toMatchObject({
      ...{ status: 400, code: "unsupported_parameter", param: "tools" },
    });
    // Refused by plan, not by the gateway.
    await expect(wrong({ messages: [{ role: "system", content: "only this" }] })).rejects.toMatchObject({
      ...{ status: 400, code: "no_messages" },
    });
    await expect(wrong({ model: "recorded", messages: user("never recorded") })).rejects.toMatchObject({
      ...{ status: 502, code: "not_recorded" },
    });
    await expect(wrong({ model: "mock", messages: user("fail") })).rejects.toMatchObject({
      ...{ status: 502, code: "endpoint_unavailable" },
    });
    await expect(
      wrong({ model: "mock", messages: user("hang"), precedent: { allow: { deadline_ms: 1_000 } } }),
    ).rejects.toMatchObject({ status: 504, code: "deadline_exceeded" });
  });

  test("bodies that are none: too large, too deep, no JSON, another type, another address", async () => {
    const status = async (response: Promise<Response>) => {
      const { error } = (await (await response).json()) as { error: { code: string } };
      return [(await response).status, error.code];
    };
    const chat = "/chat/completions";
    expect(await status(post(chat, `"${"x".repeat(70_000)}"`))).toEqual([413, "body_too_large"]);
    expect(await status(post(chat, "[".repeat(60_000)))).toEqual([400, "json_too_deep"]);
    expect(await status(post(chat, "{"))).toEqual([400, "invalid_json"]);
    expect((await status(post(chat, "a=b", { "content-type": "text/plain" })))[0]).toBe(415);
    expect(await status(post("/nothing", {}))).toEqual([404, "unknown_url"]);
    expect(await status(post(chat, {}, { "Idempotency-Key": "x".repeat(300) }))).toEqual([400, "invalid_value"]);
    expect(await status(post(chat, {}, { host: "x", "x-forwarded-for": "10.1.1.1" }))).toEqual([401, "no_api_keys"]);
  });

  test("2,000 fuzzed bodies: no 500, and it serves on", { timeout: 240_000 }, async () => {
    const base = { model: "recorded", messages: user("count the lines"), stream: false, precedent: { domain: "d" } };
    const key = fc.constantFrom(
      ...[
        "model",
        "messages",
        "temperature",
        "stop",
        "seed",
        "precedent",
        "metadata",
        "user",
        "max_tokens",
        "__proto__",
      ],
      ...["tools", "n", "stream", "constructor", "stream_options"],
    );
    const text = fc.oneof(fc.string({ unit: "binary", maxLength: 40 }), fc.constantFrom("recorded", "user", "\ud800"));
    const value = fc.oneof(
      ...[text, fc.jsonValue({ maxDepth: 4 }), fc.double(), fc.constant(null), fc.constant(Number.MAX_SAFE_INTEGER)],
      fc.array(fc.record({ role: text, content: fc.oneof(text, fc.jsonValue()) }), { maxLength: 3 }),
      fc.constant(base.messages),
      fc.record({ allow: fc.jsonValue(), documents: fc.array(text), domain: text }, { requiredKeys: [] }),
    );
    const mutated = fc.dictionary(key, value, { maxKeys: 3 }).map((change) => JSON.stringify({ ...base, ...change }));
    const cut = fc.tuple(mutated, fc.nat(200)).map(([body, at]) => body.slice(0, at));
    const bodies = fc.sample(fc.oneof({ weight: 3, arbitrary: mutated }, cut), { numRuns: 2_000, seed: 16 });
    const statuses = new Map<number, number>();
    const next = bodies.values();
    const worker = async (): Promise<void> => {
      for (const body of next) {
        const answered = await post("/chat/completions", body);
        await answered.text();
        statuses.set(answered.status, (statuses.get(answered.status) ?? 0) + 1);
        expect(answered.status, body).not.toBe(500);
      }
    };
    await Promise.all(Array.from({ length: 24 }, worker));
    expect([...statuses.values()].reduce((sum, count) => sum + count, 0)).toBe(2_000);
    expect(statuses.get(400)).toBeGreaterThan(500);
    expect(statuses.get(200)).toBeGreaterThan(50);
    expect((await post("/chat/completions", base)).status).toBe(200);
  });
});

describe("beside completions", () => {
  test("the models are the arms and auto", async () => {
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).toEqual(["auto", "recorded", "mock", "retried", "inline"]);
    expect(await client.models.retrieve("mock")).toMatchObject({ object: "model", owned_by: "precedent" });
    await expect(client.models.retrieve("none")).rejects.toMatchObject({ status: 404 });
  });

  test("feedback reaches the request, and the request says why", async () => {
    const { id } = await client.chat.completions.create({ model: "recorded", messages: user("count the lines") });
    const reported = await post("/feedback", { request_id: id, kind: "thumbs", value: 1, comment: "right" });
    expect(reported.status).toBe(202);
    const why = await system.eventually("the recorded request", async () => {
      const found = await fetch(`${baseURL}/requests/${id}`);
      const body = (await found.json()) as { feedback?: unknown[]; response?: unknown; decision?: unknown };
      return body.response && body.decision && body.feedback?.length === 1 ? body : undefined;
    });
    expect(why).toMatchObject({
      request: { id: id.replace("chatcmpl-", ""), tenant: "default", messages: user("count the lines") },
      decision: { arm: "recorded" },
      response: { status: "ok", text: "wc -l file" },
      feedback: [{ kind: "thumbs", value: 1, comment: "right" }],
    });
    expect((await fetch(`${baseURL}/requests/unknown`)).status).toBe(404);
    expect((await fetch(new URL("/healthz", baseURL))).status).toBe(200);
  });
  test("a session is named by a header or metadata, and its outcome is shared over its requests", async () => {
    const body = { model: "recorded", messages: user("count the lines"), metadata: { session_id: "visit" } };
    const headers = { "x-precedent-session": "visit" };
    for (const [its, given] of [
      [body, {}],
      [{ ...body, metadata: { session_id: "other" } }, headers],
      [{ ...body, metadata: undefined }, headers],
      [{ ...body, metadata: { session_id: "other" } }, {}],
    ] as const)
      expect((await post("/chat/completions", its, given)).status).toBe(200);
    const outcome = { session: "visit", kind: "reward", value: 0.5, source: "system" };
    expect((await post("/feedback", { ...outcome, session: "never" })).status).toBe(404);
    const id = await system.eventually("the session's requests", async () => {
      const answer = (await (await post("/feedback", outcome)).json()) as { id: string; requests?: number };
      return answer.requests === 3 ? answer.id : undefined;
    });
    const { clickhouse } = system.session;
    const rows = await system.eventually("the session's feedback", async () => {
      const found = await clickhouse.query<object>(
        "SELECT session, session_requests, value FROM feedback FINAL WHERE feedback_id = {id:String}",
        { id },
      );
      return found.length === 3 ? found : undefined;
    });
    expect(rows).toEqual(Array.from({ length: 3 }, () => ({ session: "visit", session_requests: 3, value: 0.5 })));
    const sessions = await clickhouse.query<object>(
      "SELECT session, requests, unanswered, arms, switches FROM sessions ORDER BY requests DESC",
    );
    expect(sessions).toEqual([
      { session: "visit", requests: 3, unanswered: 0, arms: ["recorded"], switches: 0 },
      { session: "other", requests: 1, unanswered: 0, arms: ["recorded"], switches: 0 },
    ]);
  });
});
