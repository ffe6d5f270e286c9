// The arm against a real HTTP server that answers as Anthropic's API does.
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import type { BlockPiece, CallPiece } from "../../schemas/types.ts";
import type { ArmFailure, ArmRequest } from "../arm.ts";
import { blocksOf, type NativePiece } from "../../algorithms/text/message-blocks.ts";
import { exactJson } from "../../algorithms/text/exact-json.ts";
import {
  endpoint,
  instantClock,
  never,
  prompt,
  request,
  secret,
  stream,
  type Handler,
} from "../openai/endpoint.testing.ts";
import { messagesUrl } from "./anthropic.ts";
import { event, message, messageEvents, type Said } from "./events.testing.ts";

const arm = (handler: Handler, more: object = {}, clock = instantClock()) =>
  endpoint(handler, { type: "anthropic", model: "claude-m", ...more }, clock, "");
const json = (response: ServerResponse, body: unknown, status = 200, headers: Record<string, string> = {}): void =>
  void response
    .writeHead(status, { "content-type": "application/json", ...headers })
    .end(typeof body === "string" ? body : JSON.stringify(body));
const says =
  (said: Said): Handler =>
  (_request, response) =>
    void stream(response).end(messageEvents(said));
const failure = (type: string, text: string) => ({ type: "error", error: { type, message: text } });
const hello = { content: [{ type: "text", text: "Hello, world" }] };
const passing = (members: object, more: object = {}) => ({
  ...request(),
  passthrough: JSON.stringify(members),
  ...more,
});
const native = { anthropic: { messages: [{ role: "user", content: "x" }] } };

describe("a call", () => {
  it("has Anthropic's headers and body, and its answer text, model and tokens with those of the cache", async () => {
    const prices = { prompt: 1, cachedPrompt: 0.1, cacheWrite: 1.25, completion: 5 };
    const { arm: large, received } = await arm(says(hello), { prices });
    const texts: string[] = [];
    const answer = await large.answer(request(), never(), (text) => void texts.push(text));
    expect(received[0]).toMatchObject({
      url: "/v1/messages",
      headers: { "x-api-key": secret, "anthropic-version": "2023-06-01", "content-type": "application/json" },
      body: {
        ...{ model: "claude-m", max_tokens: 32_000, stream: true },
        system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
        messages: [{ role: "user", content: [{ type: "text", text: prompt }] }],
      },
    });
    expect(received[0]?.headers).not.toHaveProperty("authorization");
    expect(texts.join("")).toBe("Hello, world");
    expect(answer).toMatchObject({
      ...{ kind: "answer", text: "Hello, world", finishReason: "stop", model: "claude-m-1" },
      usage: { prompt: 60, cached: 30, cacheWrite: 20, completion: 7, estimated: false },
    });
    expect(answer.kind === "answer" && answer.cost * 1e6).toBeCloseTo(10 + 20 * 1.25 + 30 * 0.1 + 7 * 5, 6);
  });

  it.each<[Partial<ArmRequest["params"]>, Record<string, unknown>]>([
    [{ temperature: 0.5, topP: 1 }, { temperature: 0.5 }],
    [{ temperature: 1, topP: 0.9 }, { top_p: 0.9 }],
    [{ temperature: 1, topP: 1 }, {}],
    [{ temperature: 1 }, { temperature: 1 }],
    [{ topP: 1 }, { top_p: 1 }],
    [
      { temperature: 0.5, topP: 0.9 },
      { temperature: 0.5, top_p: 0.9 },
    ],
  ])("has of temperature and top_p, which exclude each other, what says something: %j", async (params, expected) => {
    const { arm: large, received } = await arm(says(hello));
    const sampling = ({ temperature, top_p }: Record<string, unknown> = {}) => ({ temperature, top_p });
    await large.answer(request({ params }), never());
    expect(sampling(received[0]?.body)).toEqual(sampling(expected));
    // What a client of the same format sends goes out as it is.
    await large.answer({ ...request({ params }), passthrough: JSON.stringify(native) }, never());
    expect(sampling(received[1]?.body)).toEqual({ temperature: params.temperature, top_p: params.topP });
  });

  it("asks for the longest answer that request, arm or model says", async () => {
    const { arm: large, received } = await arm(says(hello), { maxTokens: 77 });
    await large.answer(request(), never());
    await large.answer(
      request({ params: { maxTokens: 5, temperature: 0.5, topP: 0.9, stop: ["x"], seed: 1 } }),
      never(),
    );
    expect(received.map(({ body }) => body["max_tokens"])).toEqual([77, 5]);
    expect(received[1]?.body).toMatchObject({ temperature: 0.5, top_p: 0.9, stop_sequences: ["x"] });
  });

  it.each([
    ["https://a", "https://a/v1/messages"],
    ["https://a/v1/", "https://a/v1/messages"],
    ["https://a/anthropic?x=1", "https://a/anthropic/v1/messages?x=1"],
  ])("goes to %s as its clients would", (base, url) => expect(messagesUrl(base)).toBe(url));

  it("takes an answer that is not streamed, and keeps the digits of a tool's input", async () => {
    const body = JSON.stringify(
      message({ content: [{ type: "tool_use", id: "t", name: "f", input: "INPUT" }], stop: "tool_use" }),
    );
    const input = '{"n":12345678901234567890,"x":1.0}';
    const { arm: large } = await arm((_request, response) => json(response, body.replace('"INPUT"', input)), {
      stream: false,
    });
    const answer = await large.answer(passing({ tools: [] }), never());
    expect(answer).toMatchObject({ kind: "answer", text: "", finishReason: "tool_calls" });
    const extra = JSON.parse((answer.kind === "answer" && answer.passthrough) || "{}") as { message: object };
    expect(extra.message).toEqual({
      tool_calls: [{ id: "t", type: "function", function: { name: "f", arguments: input } }],
    });
  });
});

describe("what passes through", () => {
  const image = (url: string) => ({ type: "image_url", image_url: { url } });
  it("is translated from a chat completion: tools, results, images, thoughts, format", async () => {
    const { arm: large, received } = await arm(says(hello));
    const thought = { type: "thinking", thinking: "hm", signature: "c2ln" };
    const call = (id: string) => ({
      id,
      type: "function",
      function: { name: "f", arguments: '{"a":12345678901234567890}' },
    });
    const schema = { type: "object" };
    await large.answer(
      passing({
        messages: [
          { role: "system", content: "S" },
          {
            role: "user",
            content: [{ type: "text", text: "look" }, image("data:image/png;base64,QUI="), image("http://x/y")],
          },
          { role: "assistant", content: null, tool_calls: [call("1"), call("2")], thinking_blocks: [thought] },
          { role: "tool", tool_call_id: "1", content: "one" },
          { role: "tool", tool_call_id: "2", content: [{ type: "text", text: "two" }] },
          { role: "user", content: "and?" },
        ],
        tools: [
          { type: "function", function: { name: "f", description: "d", parameters: schema, strict: true } },
          { type: "function", function: { name: "g" } },
        ],
        tool_choice: "required",
        parallel_tool_calls: false,
        response_format: { type: "json_schema", json_schema: { name: "n", schema } },
      }),
      never(),
    );
    const mark = { cache_control: { type: "ephemeral" } };
    expect(received[0]?.body).toMatchObject({
      system: [{ type: "text", text: "S", ...mark }],
      tools: [
        { name: "f", description: "d", input_schema: schema, strict: true },
        { name: "g", input_schema: { type: "object", properties: {} } },
      ],
      tool_choice: { type: "any", disable_parallel_tool_use: true },
      output_config: { format: { type: "json_schema", schema } },
    });
    expect(received[0]?.body["messages"]).toMatchObject([
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "QUI=" } },
          { type: "image", source: { type: "url", url: "http://x/y" } },
        ],
      },
      { role: "assistant", content: [thought, { type: "tool_use", id: "1", name: "f" }, { id: "2", ...mark }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "1", content: [{ type: "text", text: "one" }] },
          { type: "tool_result", tool_use_id: "2", content: [{ type: "text", text: "two" }] },
          { type: "text", text: "and?" },
        ],
      },
    ]);
    expect(received[0]?.text).toContain('"input":{"a":12345678901234567890}');
  });

  it.each([
    [{ response_format: { type: "json_object" } }, "response_format"],
    [{ logprobs: true }, "logprobs"],
    [{ functions: [] }, "functions"],
    [{ tools: [{ type: "custom", custom: { name: "x" } }] }, "tools[0]"],
    [{ tools: [null] }, "tools[0]"],
    [{ tool_choice: { type: "allowed_tools" }, tools: [] }, "tool_choice"],
    [{ messages: [{ role: "user", content: [{ type: "input_audio" }] }] }, "messages[0].content[0]"],
    [
      { messages: [{ role: "assistant", tool_calls: [{ id: "1", function: { name: "f", arguments: "[" } }] }] },
      "messages[0].tool_calls[0]",
    ],
  ])("is refused, not changed, where the format has no place for it: %j", async (members, param) => {
    const { arm: large, received } = await arm(says(hello));
    expect(await large.answer(passing(members), never())).toMatchObject({ code: "request_rejected", param });
    expect(received).toEqual([]);
  });

  it("of a client of the same format goes out as it is written, with its betas", async () => {
    const { arm: large, received } = await arm(says(hello));
    const messages = '[{"role":"user","content":[{"type":"later","n":1.0,"big":12345678901234567890}]}]';
    const anthropic = `{"messages":${messages},"thinking":{"type":"enabled","budget_tokens":1024},"betas":["a-1","b c"]}`;
    await large.answer({ ...request(), passthrough: `{"anthropic":${anthropic}}` }, never());
    expect(received[0]?.text).toContain(`"messages":${messages}`);
    expect(received[0]?.body).toMatchObject({ thinking: { type: "enabled", budget_tokens: 1024 }, model: "claude-m" });
    expect(received[0]?.body["system"]).toMatchObject([{ text: "Be brief." }]);
    expect(received[0]?.headers["anthropic-beta"]).toBe("a-1");
    expect(received[0]?.body).not.toHaveProperty("betas");
  });

  it("has the arm's headers, a bearer in place of the key and its betas beside the client's", async () => {
    const headers = { Authorization: `Bearer ${secret}`, "anthropic-beta": "own-1" };
    const { arm: large, received } = await arm(says(hello), { apiKey: "", headers });
    await large.answer(passing({ anthropic: { ...native.anthropic, betas: ["a-1"] } }), never());
    await large.answer(request(), never());
    expect(received.map((one) => one.headers["anthropic-beta"])).toEqual(["own-1,a-1", "own-1"]);
    expect(received[0]?.headers).toMatchObject({ authorization: `Bearer ${secret}` });
    expect(received[0]?.headers).not.toHaveProperty("x-api-key");
  });

  it("keeps a client's own marks of the cache, and sets none beside them", async () => {
    const { arm: large, received } = await arm(says(hello));
    const own = [
      { role: "user", content: [{ type: "text", text: "x", cache_control: { type: "ephemeral", ttl: "1h" } }] },
    ];
    await large.answer(passing({ anthropic: { system: "S", messages: own } }), never());
    expect(received[0]?.body).toMatchObject({ system: "S", messages: own });
    const whole = { cache_control: { type: "ephemeral" }, system: "S", messages: [{ role: "user", content: "x" }] };
    await large.answer(passing({ anthropic: whole }), never());
    expect(received[1]?.body).toMatchObject(whole);
    const texts = ["a", "b", "c", "d"].map((text) => ({ ...own[0]!.content[0]!, text }));
    const turns = [
      { role: "user", content: texts.slice(0, 2) },
      { role: "assistant", content: texts.slice(2) },
    ];
    await large.answer(passing({ tools: [], messages: [...turns, { role: "user", content: "x" }] }), never());
    expect(received[2]?.text.match(/"cache_control"/g)).toHaveLength(4);
  });

  it.each([
    { messages: [null, null] },
    { messages: [{ role: "user" }, 5], system: [null] },
    { messages: [{ role: "user", content: [null] }, {}], system: 7 },
    { messages: [{ content: ["a"] }, {}], tools: [null] },
    { messages: [{ content: { a: 1 } }, {}], system: { text: "a" } },
  ])("goes out as it is where no mark can be set: %j", async (anthropic) => {
    const { arm: large, received } = await arm(says(hello));
    await large.answer({ ...passing({ anthropic }), pieces: [] }, never());
    expect(received[0]?.body).toMatchObject(anthropic);
    expect(received[0]?.text).not.toContain("cache_control");
  });

  it("buys no fast answers, which cost more than the arm's prices", async () => {
    const { arm: large, received } = await arm(says(hello));
    await large.answer(passing({ anthropic: { ...native.anthropic, speed: "fast" } }), never());
    expect(received[0]?.body).not.toHaveProperty("speed");
  });
});

describe("an answer", () => {
  it("has each call's own input, whatever stands beside it, and is none without a list of blocks", async () => {
    const blocks = [null, 5, { type: "tool_use", id: "t", name: "f", input: { a: 1 } }] as object[];
    const said = message({ content: blocks as Said["content"], stop: "tool_use" });
    const { arm: large } = await arm((_request, response) => json(response, said), { stream: false });
    const answer = await large.answer(passing({ tools: [] }), never());
    expect(answer.kind === "answer" && answer.passthrough).toContain('"arguments":"{\\"a\\":1}"');
    const { arm: odd } = await arm((_request, response) => json(response, { ...said, content: "text" }), {
      retries: 0,
    });
    expect(await odd.answer(request(), never())).toMatchObject({ kind: "failure" });
  });

  it("keeps the digits of an input that comes whole, with the head of its block", async () => {
    const input = '{"id":1176543210987654321,"x":1.0}';
    const tool = { type: "tool_use", id: "t", name: "f", input: {} };
    const deltas = new RegExp(`event: content_block_delta\n.*"index":0.*\n\n`, "g");
    const events = messageEvents({ content: [tool], stop: "tool_use" })
      .replaceAll(deltas, "")
      .replace('"input":{}', `"input":${input}`);
    const withoutEnd = events.replace(/event: content_block_stop\n.*\n\n/, "");
    for (const one of [events, withoutEnd]) {
      const { arm: large } = await arm((_request, response) => void stream(response).end(one));
      const answer = await large.answer(passing({ tools: [] }), never());
      const extra = JSON.parse((answer.kind === "answer" && answer.passthrough) || "{}") as { message: object };
      expect(extra.message).toEqual({
        tool_calls: [{ id: "t", type: "function", function: { name: "f", arguments: input } }],
      });
    }
  });

  it("keeps an input that comes whole, with the head of its block", () => {
    const head = { type: "tool_use", id: "t", name: "f", input: { a: 1 } };
    expect(JSON.parse(exactJson(blocksOf([{ head, text: "" }])))).toEqual([head]);
    expect(JSON.parse(exactJson(blocksOf([{ head, text: '{"b":2}' }])))).toEqual([{ ...head, input: { b: 2 } }]);
    expect(JSON.parse(exactJson(blocksOf([{ head: { ...head, input: 5 }, text: '{"b"' }])))).toEqual([
      { ...head, input: {} },
    ]);
  });

  const thinking = { type: "thinking", thinking: "Let me see 😀.", signature: "EqQBCgIYAhIM/+==" };
  const content = [
    thinking,
    { type: "redacted_thinking", data: "EmwKAh" },
    { type: "text", text: "It is sunny." },
    { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Ulm" } },
    { type: "tool_use", id: "toolu_2", name: "time", input: "" },
    { type: "web_search_tool_result", tool_use_id: "s", content: [{ encrypted: "x" }] },
  ];
  const expected = content.map((block) => ("input" in block && block.input === "" ? { ...block, input: {} } : block));

  it.each([true, false])("has calls and thoughts for clients of chat completions (stream: %s)", async (streamed) => {
    const { arm: large } = await arm(
      streamed
        ? says({ content, stop: "tool_use" })
        : (_request, response) => json(response, message({ content: expected, stop: "tool_use" })),
      { stream: streamed },
    );
    const calls: CallPiece[] = [];
    const answer = await large.answer(
      passing({ tools: [] }),
      never(),
      (_text, _attempt, some = []) => void calls.push(...some),
    );
    if (answer.kind !== "answer") throw new Error(answer.message);
    expect(answer).toMatchObject({ text: "It is sunny.", finishReason: "tool_calls" });
    const { message: said } = JSON.parse(answer.passthrough ?? "{}") as { message: Record<string, unknown> };
    expect(said["reasoning_content"]).toBe(thinking.thinking);
    expect(said["thinking_blocks"]).toEqual(content.slice(0, 2));
    expect(said["tool_calls"]).toEqual([
      { id: "toolu_1", type: "function", function: { name: "weather", arguments: '{"city":"Ulm"}' } },
      { id: "toolu_2", type: "function", function: { name: "time", arguments: "{}" } },
    ]);
    if (streamed) expect(calls.length).toBeGreaterThan(3);
  });

  const ended = { container: { id: "c-1", expires_at: "2026" }, stop_details: { type: "refusal", category: null } };
  const besides = { ...ended, context_management: { applied_edits: [] } };

  it.each([true, false])("has its blocks as they came for clients of its own format (stream: %s)", async (streamed) => {
    const { arm: large } = await arm(
      streamed
        ? says({ content, stop: "tool_use", more: { context_management: { applied_edits: [] } }, ending: ended })
        : (_request, response) => json(response, message({ content: expected, stop: "tool_use", more: besides })),
      { stream: streamed },
    );
    const pieces: BlockPiece[] = [];
    const answer = await large.answer(
      passing(native),
      never(),
      (_text, _attempt, _calls, some = []) => void pieces.push(...some),
    );
    if (answer.kind !== "answer") throw new Error(answer.message);
    const { message: said } = JSON.parse(answer.passthrough ?? "{}") as {
      message: { anthropic: { pieces: NativePiece[]; end: object; usage: object } };
    };
    expect(JSON.parse(exactJson(blocksOf(said.anthropic.pieces)))).toEqual(expected);
    expect(said.anthropic.end).toEqual({
      delta: { stop_reason: "tool_use", stop_sequence: null, ...ended },
      context_management: { applied_edits: [] },
    });
    expect(said.anthropic.usage).toMatchObject({ input_tokens: 10, cache_read_input_tokens: 30, output_tokens: 7 });
    if (!streamed) return;
    // The pieces of the stream are the same blocks.
    const all: NativePiece[] = [];
    for (const { index, head, text } of pieces)
      if (head === null) all[index]!.text += text;
      else all[index] = { head: JSON.parse(head) as Record<string, unknown>, text };
    expect(all).toEqual(said.anthropic.pieces);
  });

  it.each([true, false])("names the request's stop sequence that ended it, streamed: %s", async (isStreamed) => {
    const ending = { stop: "stop_sequence", ending: { stop_sequence: "END" } };
    const whole = { ...message({ ...hello, ...ending }), stop_sequence: "END" };
    const { arm: large } = await arm(
      isStreamed ? says({ ...hello, ...ending }) : (_request, response) => json(response, whole),
    );
    for (const passthrough of [undefined, JSON.stringify(native)]) {
      const asked = { ...request({ params: { stop: ["END"] } }), passthrough };
      expect(await large.answer(asked, never())).toMatchObject({ finishReason: "stop", stopSequence: "END" });
    }
  });

  it.each([true, false])("costs its searches and code, and more in one country, streamed: %s", async (isStreamed) => {
    const prices = { prompt: 1, cachedPrompt: 0.1, cacheWrite: 1.25, completion: 5 };
    const code = { type: "server_tool_use", id: "s", name: "bash_code_execution", input: { command: "ls" } };
    const usage = {
      ...{ output_tokens: 7, inference_geo: "us" },
      server_tool_use: { web_search_requests: 3, web_fetch_requests: 9 },
    };
    const said = { content: [code, { ...code, id: "s2" }, ...hello.content], more: { usage } };
    const whole = message(said);
    const all = { ...whole, usage: { ...(message(hello)["usage"] as object), ...usage } };
    const { arm: large } = await arm(isStreamed ? says(said) : (_request, response) => json(response, all), { prices });
    const answer = await large.answer(passing(native), never());
    const tokens = 10 + 20 * 1.25 + 30 * 0.1 + 7 * 5;
    expect(answer.kind === "answer" && answer.cost).toBeCloseTo((1.1 * tokens) / 1e6 + (4 * 10) / 1_000, 9);
  });

  it.each([
    ["max_tokens", "length"],
    ["stop_sequence", "stop"],
    ["refusal", "content_filter"],
    ["model_context_window_exceeded", "length"],
    ["pause_turn", "unknown"],
    ["of_tomorrow", "unknown"],
  ])("that ends with %s is %s", async (stop, reason) => {
    const { arm: large } = await arm(says({ ...hello, stop }));
    expect(await large.answer(request(), never())).toMatchObject({ kind: "answer", finishReason: reason });
  });

  it("keeps what its first event alone says of it", async () => {
    const diagnostics = { cache_miss_reason: { type: "messages_changed" } };
    const usage = { input_tokens: null, output_tokens: 7, later: null };
    const events = messageEvents({ ...hello, more: { usage } }).replace(
      '"stop_reason":null',
      `$&,${JSON.stringify({ diagnostics }).slice(1, -1)}`,
    );
    const { arm: large } = await arm((_request, response) => void stream(response).end(events));
    const answer = await large.answer(passing(native), never());
    const { message: said } = JSON.parse((answer.kind === "answer" && answer.passthrough) || "{}") as {
      message: { anthropic: { end: object; usage: object } };
    };
    expect(said.anthropic.end).toEqual({ diagnostics, delta: { stop_reason: "end_turn", stop_sequence: null } });
    expect(said.anthropic.usage).toMatchObject({ input_tokens: 10, output_tokens: 7, later: null });
  });

  it("may be empty, and may have events that this version doesn't know", async () => {
    const events = messageEvents({ content: [] }).replace(
      "event: message_delta",
      `${event("of_tomorrow", { x: 1 })}${event("content_block_delta", { index: 9, delta: { type: "x" } })}event: message_delta`,
    );
    const { arm: large } = await arm((_request, response) => void stream(response).end(events));
    expect(await large.answer(passing(native), never())).toMatchObject({ kind: "answer", text: "" });
  });
});

describe("a failure", () => {
  it.each([
    [529, failure("overloaded_error", "Overloaded"), "endpoint_unavailable"],
    [500, failure("api_error", "Internal server error"), "endpoint_unavailable"],
    [429, failure("rate_limit_error", "This request would exceed your rate limit"), "rate_limited"],
  ])("of status %s is tried again after the time that the endpoint names", async (status, body, code) => {
    const clock = instantClock();
    const { arm: large, received } = await arm(
      (_request, response) => json(response, body, status, { "retry-after": "7" }),
      { retries: 1 },
      clock,
    );
    expect(await large.answer(request(), never())).toMatchObject({
      kind: "failure",
      code,
      retriable: true,
      attempts: 2,
    });
    expect(received).toHaveLength(2);
    expect(clock.waits[0]).toBeGreaterThanOrEqual(7_000);
  });

  it.each([
    [401, failure("authentication_error", "invalid x-api-key"), { code: "endpoint_rejected", unhealthy: true }],
    [404, failure("not_found_error", "model: claude-m"), { code: "endpoint_rejected", unhealthy: true }],
    [402, failure("billing_error", "pay"), { code: "endpoint_rejected", unhealthy: true }],
    [
      400,
      failure("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
      { code: "prompt_too_large", param: "messages" },
    ],
    [413, failure("request_too_large", "Request exceeds the maximum size"), { code: "prompt_too_large" }],
    [
      400,
      failure("invalid_request_error", "messages.0.content.0.image.source: bad"),
      { code: "request_rejected", param: "messages[0].content[0].image.source" },
    ],
    [
      400,
      failure("invalid_request_error", "Your credit balance is too low"),
      { code: "endpoint_rejected", unhealthy: true },
    ],
  ])("of status %s and %j is not tried again", async (status, body, expected) => {
    const { arm: large, received } = await arm((_request, response) => json(response, body, status));
    expect(await large.answer(request(), never())).toMatchObject({ kind: "failure", retriable: false, ...expected });
    expect(received).toHaveLength(1);
  });

  it("within a stream is one, and what had come is charged", async () => {
    const begun = messageEvents(hello).split("event: message_delta")[0] ?? "";
    let calls = 0;
    const { arm: large } = await arm(
      (_request, response) =>
        void stream(response).end(
          ++calls === 1 ? begun + event("error", failure("overloaded_error", "Overloaded")) : messageEvents(hello),
        ),
      { prices: { prompt: 1, completion: 1 } },
    );
    expect(await large.answer(request(), never())).toMatchObject({
      ...{ kind: "answer", text: "Hello, world", attempts: 2, spent: { calls: 1 } },
    });
  });

  it("breaks off an answer that costs what had come of it, and not what its beginning says", async () => {
    const text = "word ".repeat(700);
    const [begun = ""] = messageEvents({ content: [{ type: "text", text }] }).split("event: message_delta");
    const { arm: large } = await arm((_request, response) => void stream(response).end(begun), {
      ...{ retries: 0, prices: { prompt: 0, completion: 1 } },
    });
    const { spent } = (await large.answer(request(), never())) as ArmFailure;
    expect(spent).toMatchObject({ usage: { prompt: 60, completion: 1_000, estimated: true }, cost: 1_000 / 1e6 });
  });

  it("is a stream without its end", async () => {
    for (const end of ["event: message_delta", "event: content_block_stop"]) {
      const begun = messageEvents(hello).split(end)[0] ?? "";
      const { arm: large } = await arm((_request, response) => void stream(response).end(begun), { retries: 0 });
      expect(await large.answer(passing(native), never())).toMatchObject({ kind: "failure", code: "stream_cut" });
    }
  });

  it("says no key and no prompt", async () => {
    const body = failure("invalid_request_error", `echo of ${prompt} and ${secret}`);
    const { arm: large, logged } = await arm((_request, response) => json(response, body, 400));
    const result = JSON.stringify(await large.answer(request(), never())) + logged.join("");
    for (const text of [prompt, secret]) expect(result).not.toContain(text);
  });
});
