// What a user gets for everything that can go wrong with one request: a final response with a
// stable code, or a dead letter with the record's bytes. The system goes on, and nothing is lost.
// Outages of servers are in outage.test.ts.
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { plainExample } from "../../schemas/example.testing.ts";
import type { DeadLetter, Example } from "../../schemas/types.ts";
import { follow } from "../support/follow.ts";
import { eventually, requestOf, startSystem, type TestSystem } from "../support/system.ts";

let system: TestSystem;
let folder: string;
let endpoint: Server;
let behaviour: RequestListener;
const letters: DeadLetter[] = [];
let stopLetters: () => Promise<void>;

const completion = (text: string) =>
  JSON.stringify({
    id: "x",
    object: "chat.completion",
    model: "fake",
    choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  });
const answerWell: RequestListener = (_request, response) => {
  response.setHeader("content-type", "application/json").end(completion("fine"));
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-errors-"));
  const file = join(folder, "log.jsonl");
  await writeFile(file, JSON.stringify({ request: "hello", response: "world" }));
  endpoint = createServer((request, response) => {
    request.resume();
    behaviour(request, response);
  });
  await new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`;
  system = await startSystem({
    arms: [
      { name: "recorded", type: "recorded", file },
      { name: "remote", type: "openai", baseUrl, model: "fake", stream: false, retries: 2, timeoutMs: 1_000 },
      { name: "streamed", type: "openai", baseUrl, model: "fake", stream: true, retries: 1, timeoutMs: 5_000 },
    ],
  });
  const tail = await follow(system.session, "dead-letters", (letter) => letters.push(letter));
  stopLetters = () => tail.stop();
});
afterAll(async () => {
  await stopLetters();
  await system.stop();
  endpoint.closeAllConnections();
  endpoint.close();
  await rm(folder, { recursive: true, force: true });
});

const allow = (arm: string, deadlineMs: number | null = null) => ({
  arms: [arm],
  maxCost: null,
  deadlineMs,
  costWeight: null,
});
const stillAnswers = async () => {
  expect(await system.ask("hello", { allow: allow("recorded") })).toMatchObject({ status: "ok", text: "world" });
};

describe("undecodable records", () => {
  const send = async (value: Buffer, key: string): Promise<DeadLetter> => {
    const { kafka, topic } = system.session;
    const producer = kafka.plainProducer();
    await producer.send([{ topic: topic("requests"), key, value, headers: { trace: "abc" } }]);
    await producer.close();
    return eventually("the dead letter", async () => Promise.resolve(letters.find((l) => l.key?.toString() === key)));
  };

  test.each([
    ["no Avro at all", Buffer.from("hello"), "undecodable"],
    ["an unknown schema id", Buffer.from([0, 0, 0, 0xff, 0xff, 1, 2, 3]), "unknown_schema"],
  ])("%s goes to dead-letters with its bytes and position", async (name, value, code) => {
    const letter = await send(value, name);
    expect(letter).toMatchObject({ stage: "plan", code, topic: system.session.topic("requests") });
    expect(letter.value).toEqual(value);
    expect(letter.headers.trace?.toString()).toBe("abc");
    const [row] = await eventually("its row", async () => {
      const rows = await system.session.clickhouse.query<{ code: string }>(
        "SELECT code FROM dead_letters FINAL WHERE source_partition = {p:Int32} AND source_offset = {o:UInt64}",
        { p: letter.partition, o: letter.offset },
      );
      return rows.length === 1 ? rows : undefined;
    });
    expect(row).toEqual({ code });
    await stillAnswers();
  });

  test("a request that is answered, but whose row ClickHouse refuses, goes to dead-letters with its bytes", async () => {
    const { clickhouse, codec } = system.session;
    await clickhouse.command("ALTER TABLE requests MODIFY COLUMN seed Nullable(Enum8('zero' = 0))");
    try {
      const ids = ["fine-1", "poison", "fine-2"];
      const answers = await Promise.all(
        ids.map((id) => {
          const params = { maxTokens: null, temperature: null, topP: null, seed: id === "poison" ? 9 : null, stop: [] };
          return system.ask("hello", { id, params, allow: allow("recorded") });
        }),
      );
      expect(answers.map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
      const letter = await eventually("the dead letter", async () =>
        Promise.resolve(letters.find(({ stage, code }) => stage === "record" && code.startsWith("clickhouse_"))),
      );
      expect(letter).toMatchObject({
        topic: system.session.topic("requests"),
        reason: expect.stringMatching(/Enum8|enum/),
      });
      const whole = await codec.decode("requests", letter.value ?? Buffer.alloc(0));
      expect(whole).toMatchObject({ ok: true, value: { id: "poison", messages: [{ content: "hello" }] } });
      const rows = await eventually("the rows", async () => {
        const found = await clickhouse.query<{ id: string }>(
          `SELECT id FROM (SELECT request_id AS id FROM requests FINAL WHERE request_id IN {ids:Array(String)}
           UNION ALL SELECT concat(stage, ' ', code) AS id FROM dead_letters FINAL WHERE stage = 'record') ORDER BY id`,
          { ids },
        );
        return found.length === 3 ? found.map(({ id }) => id) : undefined;
      });
      expect(rows).toEqual(["fine-1", "fine-2", `record ${letter.code}`]);
    } finally {
      await clickhouse.command("ALTER TABLE requests MODIFY COLUMN seed Nullable(Int64)");
    }
  });

  test("one whose id can be read is answered, too: a seed beyond what JavaScript reads", async () => {
    const params = { maxTokens: null, temperature: null, topP: null, seed: 2 ** 52 + 2, stop: [] };
    const response = await system.ask("hello", { id: "big-seed", params, allow: allow("recorded") });
    expect(response).toMatchObject({ requestId: "big-seed", status: "refused", error: { code: "undecodable" } });
    expect(response.error?.message).toContain("params.seed is beyond 2^52");
    const letter = await eventually("the dead letter", async () =>
      Promise.resolve(letters.find(({ key }) => key?.toString() === "big-seed")),
    );
    expect(letter).toMatchObject({ stage: "plan", code: "undecodable", reason: "params.seed is beyond 2^52" });
    // Mended, it is answered under the same id.
    await system.produce([{ ...requestOf("hello"), id: "big-seed", allow: allow("recorded") }]);
    const second = await eventually("its response", async () => Promise.resolve(system.responses.get("big-seed")?.[1]));
    expect(second).toMatchObject({ status: "ok", text: "world", duplicate: false });
  });

  test("truncated Avro goes to dead-letters", async () => {
    const whole = system.session.codec.encode("requests", requestOf("hello"));
    expect(await send(whole.subarray(0, whole.length - 9), "truncated")).toMatchObject({ code: "undecodable" });
    await stillAnswers();
  });
});

describe("requests that are refused", () => {
  test("no messages", async () => {
    const response = await system.ask("", { messages: [] });
    expect(response).toMatchObject({ status: "refused", error: { code: "no_messages" } });
  });
  test("an unknown arm is named, and those that exist", async () => {
    const response = await system.ask("hello", { allow: allow("imaginary") });
    expect(response).toMatchObject({ status: "refused", error: { code: "unknown_arm" } });
    expect(response.error?.message).toMatch(/imaginary.*recorded, remote, streamed/);
  });
  test("a prompt of 10 MB is refused with its size and the limit", async () => {
    const response = await system.ask("x".repeat(10_000_000));
    expect(response).toMatchObject({ status: "refused", error: { code: "prompt_too_large" } });
    expect(response.error?.message).toMatch(/10000000.*1048576/);
    await stillAnswers();
  });
  test("a prompt of 20 MB never enters: the broker refuses it at the producer", async () => {
    await expect(system.produce([requestOf("x".repeat(20_000_000))])).rejects.toThrow(
      /larger than the max message size/,
    );
    await stillAnswers();
  });
  test("a deadline that has passed", async () => {
    const response = await system.ask("hello", { allow: allow("recorded", 1) });
    expect(response).toMatchObject({ status: "refused", error: { code: "deadline_exceeded" } });
  });
  test("a deadline that passes while the model hangs", async () => {
    behaviour = () => undefined;
    const response = await system.ask("hello", { allow: allow("remote", 700) });
    expect(response).toMatchObject({ status: "refused", error: { code: "deadline_exceeded" } });
    await stillAnswers();
  });
});

describe("model endpoints", () => {
  test("429 with Retry-After, then an answer: one response, two attempts", async () => {
    let calls = 0;
    behaviour = (request, response) => {
      if (++calls === 1) response.writeHead(429, { "retry-after": "0.1" }).end("{}");
      else answerWell(request, response);
    };
    expect(await system.ask("hello", { allow: allow("remote") })).toMatchObject({
      status: "ok",
      text: "fine",
      attempt: 2,
    });
  });
  test.each<[string, RequestListener, string]>([
    ["500 for ever", (_q, s) => s.writeHead(500).end("{}"), "endpoint_unavailable"],
    ["a hanging endpoint", () => undefined, "endpoint_timeout"],
    ["401", (_q, s) => s.writeHead(401).end("{}"), "endpoint_rejected"],
  ])("%s fails with a code after bounded attempts", async (_name, listener, code) => {
    behaviour = listener;
    const response = await system.ask("hello", { allow: allow("remote") });
    expect(response).toMatchObject({ status: "failed", text: "", error: { code } });
  });
  test("a stream cut in the middle is a failure, never a short answer", async () => {
    behaviour = (_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const chunk = {
        id: "x",
        object: "chat.completion.chunk",
        model: "fake",
        choices: [{ index: 0, delta: { content: "half" }, finish_reason: null }],
      };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      setTimeout(() => response.destroy(), 50);
    };
    const response = await system.ask("hello", { allow: allow("streamed") });
    expect(response).toMatchObject({ status: "failed", text: "", error: { code: "stream_cut" } });
  });
  test("no server listens", async () => {
    const { port } = endpoint.address() as AddressInfo;
    endpoint.closeAllConnections();
    await new Promise((resolve) => endpoint.close(resolve));
    const response = await system.ask("hello", { allow: allow("remote") });
    await new Promise<void>((resolve) => endpoint.listen(port, "127.0.0.1", resolve));
    expect(response).toMatchObject({ status: "failed", error: { code: "endpoint_refused" } });
  });
});

test("an example with NaN in its embedding, or of another size, is left out; requests of its domain are answered", async () => {
  const { kafka, codec, topic } = system.session;
  const example = (id: string, embedding: Float32Array): Example =>
    plainExample({
      ...{ id, tenant: "default", domain: "default/poison", request: "hello", response: "poison" },
      embedding: Buffer.from(embedding.buffer),
      embeddingModel: "all-MiniLM-L6-v2",
      createdAt: Date.now(),
    });
  const producer = kafka.plainProducer();
  const bad = [example("nan", new Float32Array(384).fill(NaN)), example("short", new Float32Array(3).fill(0.5))];
  await producer.send(
    bad.map((record) => ({
      topic: topic("examples"),
      key: `${record.domain}/${record.id}`,
      value: codec.encode("examples", record),
    })),
  );
  await producer.close();
  const response = await system.ask("hello", { domain: "poison", allow: allow("recorded") });
  expect(response).toMatchObject({ status: "ok", text: "world", exampleIds: [] });
});

test("every request of this file was answered exactly once", () => {
  // Asked twice: refused, then mended.
  for (const [id, seen] of system.responses) expect([id, seen.length]).toEqual([id, id === "big-seed" ? 2 : 1]);
});
