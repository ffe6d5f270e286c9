// Against a real HTTP server on the loopback that misbehaves in every way an endpoint can.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import { armSchema } from "../config/schema.ts";
import type { Arm, ArmRequest } from "./arm.ts";
import { createOpenAiArm } from "./openai.ts";

type Handler = (request: IncomingMessage, response: ServerResponse, call: number) => void;
interface Received {
  body: Record<string, unknown>;
  headers: IncomingMessage["headers"];
  at: number;
}

let server: Server | undefined;
let arm: Arm | undefined;
afterEach(async () => {
  await arm?.close();
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  server = undefined;
});

const secret = "sk-the-key";
const prompt = "the whole prompt of the client";

/** Starts an endpoint; what it received and what the arm logged come back. */
async function endpoint(handler: Handler, more: object = {}) {
  const received: Received[] = [];
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      received.push({
        body: JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>,
        headers: request.headers,
        at: Date.now(),
      });
      handler(request, response, received.length);
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const logged: string[] = [];
  arm = create(`http://127.0.0.1:${String(port)}/v1`, more, logged);
  return { arm, received, logged };
}

function create(baseUrl: string, more: object, logged: string[] = []): Arm {
  const config = armSchema.parse({ name: "dear", type: "openai", baseUrl, apiKey: secret, model: "m", ...more });
  if (config.type !== "openai") throw new Error("unreachable");
  const log = pino({ level: "trace" }, { write: (line: string) => void logged.push(line) });
  return createOpenAiArm(config, { log, backoff: () => 5 });
}

function request(more: { deadlineMs?: number; params?: Partial<ArmRequest["params"]> } = {}): ArmRequest {
  return {
    requestId: "r1",
    pieces: [
      { kind: "system", id: null, role: "system", text: "Be brief." },
      { kind: "turn", id: null, role: "user", text: prompt },
    ],
    params: { maxTokens: null, temperature: null, topP: null, seed: null, stop: [], ...more.params },
    deadline: Date.now() + (more.deadlineMs ?? 60_000),
  };
}
const never = (): AbortSignal => new AbortController().signal;

const chunk = (content: string | null, finish: string | null = null, usage?: object): string =>
  `data: ${JSON.stringify({ id: "c", model: "m-1", choices: [{ index: 0, delta: content === null ? {} : { content }, finish_reason: finish }], usage })}\n\n`;
const usage = {
  prompt_tokens: 100,
  completion_tokens: 10,
  total_tokens: 110,
  prompt_tokens_details: { cached_tokens: 60 },
};
const usageChunk = `data: ${JSON.stringify({ id: "c", model: "m-1", choices: [], usage })}\n\n`;

const stream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { "content-type": "text/event-stream" });
const good: Handler = (_request, response) =>
  void stream(response).end(chunk("Hel") + chunk("lo") + chunk(null, "stop") + usageChunk + "data: [DONE]\n\n");
const status = (
  response: ServerResponse,
  code: number,
  error: object = {},
  headers: Record<string, string> = {},
): void =>
  void response
    .writeHead(code, { "content-type": "application/json", ...headers })
    .end(JSON.stringify({ error: { message: `echo of ${prompt} and ${secret}`, ...error } }));

describe("a healthy endpoint", () => {
  it("streams text, first token, usage and cost, and is asked with the arm's defaults", async () => {
    const { arm, received } = await endpoint(good, {
      prices: { prompt: 10, completion: 100 },
      maxTokens: 33,
      stop: ["\n"],
    });
    const texts: [string, number][] = [];
    const answer = await arm.answer(request(), never(), (text, attempt) => texts.push([text, attempt]));
    expect(answer).toMatchObject({
      kind: "answer",
      text: "Hello",
      finishReason: "stop",
      model: "m-1",
      usage: { prompt: 100, prefilled: 40, completion: 10, linked: 0 },
      attempts: 1,
    });
    expect(answer.kind === "answer" && answer.cost).toBeCloseTo(0.002, 12);
    expect(answer.kind === "answer" && answer.firstTokenMs).toBeGreaterThan(0);
    expect(texts).toEqual([
      ["Hel", 1],
      ["lo", 1],
    ]);
    expect(received[0]?.headers.authorization).toBe(`Bearer ${secret}`);
    expect(received[0]?.body).toEqual({
      model: "m",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: prompt },
      ],
      max_tokens: 33,
      stop: ["\n"],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it("answers without streaming, with the request's parameters", async () => {
    const { arm, received } = await endpoint(
      (_request, response) =>
        void response.writeHead(200, { "content-type": "application/json" }).end(
          JSON.stringify({
            model: "m-2",
            choices: [{ message: { role: "assistant", content: "Hi" }, finish_reason: "length" }],
            usage,
          }),
        ),
      { stream: false },
    );
    const params = { maxTokens: 5, temperature: 0.5, topP: 0.9, seed: 7, stop: ["x"] };
    expect(await arm.answer(request({ params }), never())).toMatchObject({
      text: "Hi",
      finishReason: "length",
      model: "m-2",
      firstTokenMs: null,
    });
    expect(received[0]?.body).toMatchObject({
      max_tokens: 5,
      temperature: 0.5,
      top_p: 0.9,
      seed: 7,
      stop: ["x"],
      stream: false,
    });
  });

  it("passes content_filter on and estimates tokens nobody counted", async () => {
    const { arm } = await endpoint(
      (_request, response) =>
        void stream(response).end(chunk("Hello") + chunk(null, "content_filter") + "data: [DONE]\n\n"),
    );
    expect(await arm.answer(request(), never())).toMatchObject({
      finishReason: "content_filter",
      usage: { prompt: 11, completion: 2 },
    });
  });

  it("is called by no more than its concurrency at a time", async () => {
    let open = 0;
    let most = 0;
    const { arm } = await endpoint(
      (request, response) => {
        most = Math.max(most, (open += 1));
        setTimeout(() => {
          open -= 1;
          good(request, response, 0);
        }, 20);
      },
      { concurrency: 2 },
    );
    const answers = await Promise.all(Array.from({ length: 7 }, () => arm.answer(request(), never())));
    expect(answers.map((answer) => answer.kind)).toEqual(Array(7).fill("answer"));
    expect(most).toBe(2);
    expect(Math.max(...answers.map((answer) => (answer.kind === "answer" ? answer.queueMs : 0)))).toBeGreaterThan(15);
  });
});

describe("an endpoint that fails for a while", () => {
  it.each([500, 502, 503, 408, 409])("is asked again after %i", async (code) => {
    const { arm, received, logged } = await endpoint((request, response, call) =>
      call === 1 ? status(response, code) : good(request, response, call),
    );
    expect(await arm.answer(request(), never())).toMatchObject({ kind: "answer", text: "Hello", attempts: 2 });
    expect(received).toHaveLength(2);
    expect(logged.join()).toContain("trying again");
    expect(logged.join()).not.toContain(prompt);
    expect(logged.join()).not.toContain(secret);
  });

  it.each([
    ["in seconds", () => "1"],
    ["as a date", () => new Date(Date.now() + 2000).toUTCString()],
  ])("is left alone as long as Retry-After says, %s", async (_name, header) => {
    const { arm, received } = await endpoint((request, response, call) =>
      call === 1 ? status(response, 429, {}, { "retry-after": header() }) : good(request, response, call),
    );
    expect(await arm.answer(request(), never())).toMatchObject({ kind: "answer", attempts: 2 });
    expect((received[1]?.at ?? 0) - (received[0]?.at ?? 0)).toBeGreaterThan(900);
  });

  it("is not waited for past the deadline", async () => {
    const { arm, received } = await endpoint((_request, response) =>
      status(response, 429, {}, { "retry-after": "3600" }),
    );
    expect(await arm.answer(request(), never())).toMatchObject({ code: "rate_limited", attempts: 1, retriable: true });
    expect(received).toHaveLength(1);
  });

  it.each([
    [429, "rate_limited"],
    [500, "endpoint_unavailable"],
  ])("fails after the last retry of status %i with %s", async (code, expected) => {
    const { arm, received } = await endpoint((_request, response) => status(response, code), { retries: 2 });
    expect(await arm.answer(request(), never())).toMatchObject({
      kind: "failure",
      code: expected,
      attempts: 3,
      retriable: true,
    });
    expect(received).toHaveLength(3);
  });

  it("starts over after a cut stream, and says so to who listens", async () => {
    const { arm } = await endpoint((request, response, call) => {
      if (call > 1) return good(request, response, call);
      stream(response).write(chunk("Half an ans"));
      setTimeout(() => response.destroy(), 20);
    });
    const texts: [string, number][] = [];
    expect(await arm.answer(request(), never(), (text, attempt) => texts.push([text, attempt]))).toMatchObject({
      text: "Hello",
      attempts: 2,
    });
    expect(texts).toEqual([
      ["Half an ans", 1],
      ["Hel", 2],
      ["lo", 2],
    ]);
  });
});

describe("an endpoint that fails for good", () => {
  it.each([
    [400, {}, "endpoint_rejected"],
    [401, { code: "invalid_api_key" }, "endpoint_rejected"],
    [404, {}, "endpoint_rejected"],
    [422, {}, "endpoint_rejected"],
    [429, { code: "insufficient_quota" }, "endpoint_rejected"],
    [413, {}, "prompt_too_large"],
    [400, { code: "context_length_exceeded" }, "prompt_too_large"],
  ])("is not asked again after %i %j", async (code, error, expected) => {
    const { arm, received } = await endpoint((_request, response) => status(response, code, error));
    const result = await arm.answer(request(), never());
    expect(result).toMatchObject({ kind: "failure", code: expected, attempts: 1, retriable: false });
    expect(received).toHaveLength(1);
    expect(JSON.stringify(result)).not.toContain(prompt);
    expect(JSON.stringify(result)).not.toContain(secret);
  });

  it("that refuses connections is endpoint_refused", async () => {
    const { received } = await endpoint(good);
    const { port } = server?.address() as AddressInfo;
    await new Promise((resolve) => server?.close(resolve));
    server = undefined;
    arm = create(`http://127.0.0.1:${String(port)}/v1`, { retries: 1 });
    expect(await arm.answer(request(), never())).toMatchObject({
      code: "endpoint_refused",
      attempts: 2,
      retriable: true,
    });
    expect(received).toHaveLength(0);
  });

  it.each<[string, Handler]>([
    [
      "the connection breaks",
      (_request, response) => {
        stream(response).write(chunk("Half"));
        setTimeout(() => response.destroy(), 20);
      },
    ],
    ["the stream ends politely", (_request, response) => void stream(response).end(chunk("Half"))],
    [
      "[DONE] comes without a finish reason",
      (_request, response) => void stream(response).end(chunk("Half") + "data: [DONE]\n\n"),
    ],
    ["a line is left half written", (_request, response) => void stream(response).end(chunk("Half") + 'data: {"choi')],
  ])("never passes off half an answer when %s", async (_name, handler) => {
    const { arm, received } = await endpoint(handler, { retries: 1 });
    expect(await arm.answer(request(), never())).toMatchObject({
      kind: "failure",
      code: "stream_cut",
      attempts: 2,
      retriable: true,
    });
    expect(received).toHaveLength(2);
  });

  it("never passes off half an unstreamed answer", async () => {
    const { arm } = await endpoint(
      (_request, response) => {
        response
          .writeHead(200, { "content-type": "application/json", "content-length": "1000" })
          .write('{"choices":[{"mess');
        setTimeout(() => response.destroy(), 20);
      },
      { retries: 0, stream: false },
    );
    expect(await arm.answer(request(), never())).toMatchObject({ code: "stream_cut", attempts: 1 });
  });

  it.each<[string, boolean, string, string]>([
    ["an event that is no JSON", true, "text/event-stream", "data: {oops\n\n"],
    ["an event that is no chunk", true, "text/event-stream", 'data: {"choices": 3}\n\n'],
    ["an empty stream", true, "text/event-stream", ""],
    ["a page to a stream", true, "text/html", "<html>maintenance</html>"],
    ["a page", false, "text/html", "<html>maintenance</html>"],
    ["broken JSON", false, "application/json", '{"choices": ['],
    ["JSON that is no completion", false, "application/json", '{"choices": [{}]}'],
    ["null", false, "application/json", "null"],
    [
      "an error within the stream",
      true,
      "text/event-stream",
      'data: {"error": {"message": "boom", "code": "overloaded"}}\n\n',
    ],
  ])("that sends %s is endpoint_unavailable", async (_name, streaming, type, body) => {
    const { arm } = await endpoint(
      (_request, response) => void response.writeHead(200, { "content-type": type }).end(body),
      {
        retries: 1,
        stream: streaming,
      },
    );
    expect(await arm.answer(request(), never())).toMatchObject({
      kind: "failure",
      code: "endpoint_unavailable",
      attempts: 2,
    });
  });
});

describe("time", () => {
  const hang: Handler = () => undefined;
  const dribble: Handler = (_request, response) => {
    stream(response);
    const timer = setInterval(() => response.write(chunk("x")), 20);
    response.on("close", () => clearInterval(timer));
  };

  it.each([
    ["hangs", hang],
    ["never ends", dribble],
  ])("an endpoint that %s is endpoint_timeout", async (_name, handler) => {
    const { arm, received } = await endpoint(handler, { timeoutMs: 150, retries: 1 });
    expect(await arm.answer(request(), never())).toMatchObject({
      code: "endpoint_timeout",
      attempts: 2,
      retriable: true,
    });
    expect(received).toHaveLength(2);
  });

  it("the deadline ends a call before its timeout", async () => {
    const { arm } = await endpoint(hang);
    expect(await arm.answer(request({ deadlineMs: 100 }), never())).toMatchObject({
      code: "endpoint_timeout",
      attempts: 1,
      retriable: false,
    });
  });

  it("a slow stream that ends in time is an answer", async () => {
    const { arm } = await endpoint((_request, response) => {
      stream(response).write(chunk("slow "));
      setTimeout(() => response.end(chunk("but whole") + chunk(null, "stop") + "data: [DONE]\n\n"), 150);
    });
    expect(await arm.answer(request(), never())).toMatchObject({ text: "slow but whole" });
  });

  it.each([
    ["hangs", hang],
    ["streams", dribble],
  ])("a call to an endpoint that %s is cancelled by the signal, and the connection closed", async (_name, handler) => {
    let closed = 0;
    const { arm, received } = await endpoint((request, response, call) => {
      response.on("close", () => (closed += 1));
      handler(request, response, call);
    });
    const controller = new AbortController();
    const pending = arm.answer(request(), controller.signal);
    while (received.length === 0) await sleep(5);
    controller.abort();
    expect(await pending).toMatchObject({ kind: "failure", code: "cancelled" });
    while (closed === 0) await sleep(5);
    expect(closed).toBe(1);
  });

  it("a caller is cancelled while it waits for a slot, and while it waits to try again", async () => {
    const { arm, received } = await endpoint(
      (_request, response) => status(response, 429, {}, { "retry-after": "30" }),
      { concurrency: 1 },
    );
    const first = new AbortController();
    const second = new AbortController();
    const waiting = [arm.answer(request(), first.signal), arm.answer(request(), second.signal)] as const;
    while (received.length === 0) await sleep(5);
    second.abort();
    expect(await waiting[1]).toMatchObject({ code: "cancelled", attempts: 0 });
    first.abort();
    expect(await waiting[0]).toMatchObject({ code: "cancelled", attempts: 1 });
    expect(received).toHaveLength(1);
  });

  it("close cancels what is under way", async () => {
    const { arm, received } = await endpoint(hang, { concurrency: 1 });
    const pending = [arm.answer(request(), never()), arm.answer(request(), never())];
    while (received.length === 0) await sleep(5);
    await arm.close();
    expect((await Promise.all(pending)).map((result) => result.kind === "failure" && result.code)).toEqual([
      "cancelled",
      "cancelled",
    ]);
  });

  it("requestsPerMinute spaces calls, and refuses those whose turn comes after the deadline", async () => {
    const { arm, received } = await endpoint(good, { requestsPerMinute: 120, concurrency: 1 });
    const results = [
      arm.answer(request(), never()),
      arm.answer(request(), never()),
      arm.answer(request({ deadlineMs: 700 }), never()),
    ];
    expect(
      (await Promise.all(results)).map((result) => (result.kind === "failure" ? result.code : result.text)),
    ).toEqual(["Hello", "Hello", "rate_limited"]);
    expect((received[1]?.at ?? 0) - (received[0]?.at ?? 0)).toBeGreaterThan(200);
  });
});
