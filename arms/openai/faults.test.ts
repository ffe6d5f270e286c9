// Against a real HTTP server on the loopback that misbehaves in every way an endpoint can.
import { describe, expect, it } from "vitest";
import {
  chunk,
  endpoint,
  good,
  type Handler,
  instantClock,
  never,
  prompt,
  refusingArm,
  request,
  secret,
  status,
  stream,
  usage,
} from "./endpoint.testing.ts";

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
    ["in seconds", (_now: number) => "100"],
    ["as a date", (now: number) => new Date(now + 100_000).toUTCString()],
  ])("is left alone as long as Retry-After says, %s", async (_name, header) => {
    const clock = instantClock();
    const again: Handler = (request, response, call) =>
      call === 1 ? status(response, 429, {}, { "retry-after": header(clock.now()) }) : good(request, response, call);
    const { arm } = await endpoint(again, {}, clock);
    expect(await arm.answer(request({ deadlineMs: 600_000 }), never())).toMatchObject({ kind: "answer", attempts: 2 });
    expect(clock.waits).toHaveLength(1);
    // A date has no milliseconds; up to 250 are added at random.
    expect(Math.abs((clock.waits[0] ?? 0) - 100_000)).toBeLessThanOrEqual(1_000);
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
    [400, {}, "request_rejected"],
    [401, { code: "invalid_api_key" }, "endpoint_rejected"],
    [404, {}, "endpoint_rejected"],
    [422, {}, "request_rejected"],
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
    const arm = await refusingArm({ retries: 1 });
    expect(await arm.answer(request(), never())).toMatchObject({
      code: "endpoint_refused",
      attempts: 2,
      retriable: true,
    });
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
    ...[0, {}, true, "in_progress", "other"].map((finish): [string, Handler] => [
      `the finish reason is ${JSON.stringify(finish)}`,
      (_request, response) => void stream(response).end(chunk("Half", finish as string)),
    ]),
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

describe("an error in the body of an answer", () => {
  const answered = { choices: [{ message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }], usage };
  const sent = async (body: object) => {
    const { arm } = await endpoint(
      (_request, response) =>
        void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body)),
      { retries: 0, stream: false },
    );
    return arm.answer(request(), never());
  };

  it.each<[object, string]>([
    ...[14, "14", -32603, 0, 20, 200, 303].map((code): [object, string] => [
      { error: { code, message: "busy" } },
      "endpoint_unavailable",
    ]),
    [{ error: { code: 14, status: "UNAVAILABLE", message: "busy" } }, "endpoint_unavailable"],
    [{ error: "Unauthorized", status: 401 }, "endpoint_rejected"],
    [{ error: "no", status: 400 }, "request_rejected"],
    [{ error: "slow down", code: 429 }, "rate_limited"],
    [{ error: true, message: "slow down", code: 429 }, "rate_limited"],
    [{ error: { message: "slow down", code: null }, status: 429 }, "rate_limited"],
    [{ errors: [{ message: "slow down", code: 429 }], success: false }, "rate_limited"],
    [{ type: "error", status: 429 }, "rate_limited"],
    [{ message: "slow down", status: 429 }, "rate_limited"],
    [{ object: "error", message: "slow down", code: 429, choices: [] }, "rate_limited"],
  ])("%j is read, inner and outer members", async (body, code) => {
    const result = await sent(body);
    expect(result).toMatchObject({ code, retriable: !code.endsWith("rejected") });
    if ("message" in body) expect(result).toHaveProperty("message", expect.stringContaining(body.message as string));
  });

  it.each<object>([
    { error: "None" },
    { error: "" },
    { error: { code: "success", message: "success" } },
    { error: { code: 0, message: "" }, errors: [] },
    { errors: [{ message: "of a check" }], code: 200, message: "success" },
  ])("is none in an answer beside %j", async (more) => {
    expect(await sent({ ...answered, ...more })).toMatchObject({ kind: "answer", text: "Hi" });
  });

  it("is none in the last piece of a stream", async () => {
    const last = { choices: [], usage, code: 200, message: "success" };
    const { arm } = await endpoint(
      (_request, response) =>
        void stream(response).end(chunk("Hi") + chunk(null, "stop") + `data: ${JSON.stringify(last)}\n\n`),
    );
    expect(await arm.answer(request(), never())).toMatchObject({ kind: "answer", text: "Hi" });
  });
});

describe("an error whose body can't be read", () => {
  const refused = '{"error":{"message":"Unsupported value","param":"temperature"}}';
  it.each<[string, number, Handler, object]>([
    [
      "packed otherwise than it says",
      401,
      (_request, response) => void response.writeHead(401, { "content-encoding": "gzip" }).end(refused),
      { code: "endpoint_rejected" },
    ],
    [
      "cut off",
      400,
      (_request, response) => {
        response.writeHead(400, { "content-length": "1000" }).write(refused);
        setTimeout(() => response.destroy(), 20);
      },
      { code: "request_rejected", param: "temperature" },
    ],
    [
      "cut off, with a wait",
      429,
      (_request, response) => {
        response.writeHead(429, { "content-length": "1000", "retry-after": "7" }).write('{"err');
        setTimeout(() => response.destroy(), 20);
      },
      { code: "rate_limited", retryAfterMs: 7_000 },
    ],
    [
      "without end",
      400,
      (_request, response) => void response.writeHead(400).write(refused),
      { code: "request_rejected", param: "temperature" },
    ],
  ])("has its status: one that is %s", { timeout: 15_000 }, async (_name, code, handler, expected) => {
    const { arm } = await endpoint(handler, { retries: 0 });
    const result = await arm.answer(request(), never());
    expect(result).toMatchObject(expected);
    expect(result).toHaveProperty("message", expect.stringContaining(`status ${code}`));
  });
});

const json = JSON.stringify({ choices: [{ index: 0, message: { content: "Hello" }, finish_reason: "stop" }] });
const events = chunk("Hello") + chunk(null, "stop");

describe("an answer is read as it begins, whatever its type is", () => {
  it.each<[string, string, boolean, string]>([
    ["JSON of a type in capitals", "Application/JSON", true, json],
    ["events of a type in capitals", "Text/Event-Stream", false, events],
    ["JSON behind a mark of its order of bytes", "application/json", false, `\ufeff${json}`],
    ["JSON as events", "text/event-stream", true, ` \n${json}`],
    ["JSON as text", "text/plain", true, json],
    ["events as JSON", "application/json", true, events],
    ["events as JSON, a comment first", "application/json", false, `\n: waiting\n\n${events}`],
  ])("%s", async (_what, type, streaming, body) => {
    const { arm } = await endpoint(
      (_request, response) => {
        response.writeHead(200, { "content-type": type }).write(body.slice(0, 3));
        setTimeout(() => response.end(body.slice(3)), 5);
      },
      { retries: 0, stream: streaming },
    );
    expect(await arm.answer(request(), never())).toMatchObject({ kind: "answer", text: "Hello" });
  });

  it("an error as events", async () => {
    const { arm } = await endpoint(
      (_request, response) => void stream(response).end('{"error":{"message":"slow down","code":429}}'),
      { retries: 0 },
    );
    expect(await arm.answer(request(), never())).toMatchObject({ code: "rate_limited" });
  });
});

it("an endpoint that begins with an error and goes on is left", async () => {
  let hasLeft = false;
  const { arm } = await endpoint(
    (_request, response) => {
      stream(response).write('data: {"error":{"message":"no","code":500}}\n\n');
      const timer = setInterval(() => response.write(": ping\n\n"), 10);
      response.on("close", () => {
        hasLeft = true;
        clearInterval(timer);
      });
    },
    { retries: 0 },
  );
  expect(await arm.answer(request(), never())).toMatchObject({ kind: "failure" });
  await expect.poll(() => hasLeft).toBe(true);
});

it("what follows [DONE] is not waited for, and the connection is left", async () => {
  let hasLeft = false;
  const { arm, received } = await endpoint(
    (_request, response) => {
      stream(response).write(`${events}data: [DONE]\n\n`);
      const timer = setInterval(() => response.write(": ping\n\n"), 10);
      response.on("close", () => {
        hasLeft = true;
        clearInterval(timer);
      });
    },
    { timeoutMs: 5_000 },
  );
  expect(await arm.answer(request(), never())).toMatchObject({ kind: "answer", text: "Hello", attempts: 1 });
  expect(received).toHaveLength(1);
  await expect.poll(() => hasLeft).toBe(true);
});
