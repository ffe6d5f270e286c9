import { describe, expect, it } from "vitest";
import { aResponse } from "../../responses.testing.ts";
import { RawJson } from "../../../algorithms/text/exact-json.ts";
import { ApiError, errorOfResponse } from "../../errors.ts";
import type { Capability } from "../../../algorithms/routing/passthrough.ts";
import { chatRequest } from "../request.ts";
import { finishedResponse } from "./answer.ts";
import { createResponseEvents } from "./events.ts";
import { responsesRequest } from "./request.ts";

const of = { requestId: "r1", model: "auto", created: 7, echo: {} };
const all = new Set<Capability>(["tools", "vision", "parameters"]);

describe("the body of /v1/responses", () => {
  it("becomes the request that a chat completion of the same would be", () => {
    const { request, model, stream, echo } = responsesRequest({
      ...{ model: "small", instructions: "Be brief.", max_output_tokens: 7, temperature: 0.5, stream: true },
      input: [
        { role: "user", content: [{ type: "input_text", text: "one" }] },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "said", annotations: [] }] },
        { role: "user", content: "two" },
      ],
      ...{ store: false, truncation: "disabled", text: { format: { type: "text" } }, tools: [], include: null },
      precedent: { domain: "shell" },
    });
    expect({ model, stream }).toEqual({ model: "small", stream: true });
    expect(echo).toMatchObject({ instructions: "Be brief.", max_output_tokens: 7, text: { format: { type: "text" } } });
    expect(request).toMatchObject({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "one" },
        { role: "assistant", content: "said" },
        { role: "user", content: "two" },
      ],
      params: { maxTokens: 7, temperature: 0.5 },
      domain: "shell",
      passthrough: null,
    });
    expect(responsesRequest({ model: "m", input: "hi" }).request.messages).toEqual([{ role: "user", content: "hi" }]);
  });

  it("knows what its own members are that a refusal of the request names", () => {
    const input = [
      { role: "user", content: "one" },
      { role: "user", content: "two" },
    ];
    const { pathOf } = responsesRequest({ model: "m", instructions: "Be brief.", input });
    const paramOf = (code: string, param?: string) =>
      errorOfResponse({ status: "failed", error: { code, message: "", param: param ?? null } }, pathOf).param;
    expect(paramOf("prompt_too_large")).toBe("input");
    expect(paramOf("request_rejected", "messages[0].content")).toBe("instructions");
    expect(paramOf("request_rejected", "messages[2]")).toBe("input[1]");
    expect(paramOf("request_rejected", "max_tokens")).toBe("max_output_tokens");
    expect(paramOf("request_rejected", "tools[0]")).toBe("tools[0]");
    expect(paramOf("too_expensive")).toBe("precedent.allow.max_cost");
    expect(paramOf("rate_limited")).toBeUndefined();
  });

  it("with tools, their results, images and a format is what a chat completion of the same would be", () => {
    const text = `{"model":"m","tools":[{"type":"function","name":"pay","strict":true,"parameters":{"maximum":12345678901234567890}}],
      "tool_choice":{"type":"function","name":"pay"},"parallel_tool_calls":false,"reasoning":{"effort":"low","summary":"auto"},
      "text":{"verbosity":"low","format":{"type":"json_schema","name":"a","strict":true,"schema":{"const":1.0}}},
      "input":[{"role":"user","content":[{"type":"input_text","text":"pay"},{"type":"input_image","image_url":"data:x","detail":"low"}]},
        {"type":"reasoning","id":"rs","summary":[]},
        {"role":"assistant","content":"now"},
        {"type":"function_call","call_id":"c1","name":"pay","arguments":"{\\"n\\": 1.50}"},
        {"type":"function_call","call_id":"c2","name":"pay","arguments":"{}"},
        {"type":"function_call_output","call_id":"c1","output":"paid"},
        {"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"twice"}]}]}`;
    const { passthrough, requires } = responsesRequest(JSON.parse(text), all, { text }).request;
    expect(requires).toEqual(["tools", "vision", "parameters", "common"]);
    expect(passthrough).toContain('"parameters":{"maximum":12345678901234567890}');
    expect(passthrough).toContain('"schema":{"const":1.0}');
    const called = (id: string, given: string) => ({
      id,
      type: "function",
      function: { name: "pay", arguments: given },
    });
    const image = { type: "image_url", image_url: { url: "data:x", detail: "low" } };
    expect(JSON.parse(passthrough ?? "")).toMatchObject({
      messages: [
        { role: "user", content: [{ type: "text", text: "pay" }, image] },
        { role: "assistant", content: "now", tool_calls: [called("c1", '{"n": 1.50}'), called("c2", "{}")] },
        { role: "tool", tool_call_id: "c1", content: "paid" },
        { role: "tool", tool_call_id: "c2", content: "twice" },
      ],
      tools: [{ type: "function", function: { name: "pay", strict: true } }],
      tool_choice: { type: "function", function: { name: "pay" } },
      ...{ parallel_tool_calls: false, reasoning_effort: "low", verbosity: "low" },
      response_format: { type: "json_schema", json_schema: { name: "a", strict: true } },
    });
  });

  it("puts what a stream began with behind its calls into the message of the calls", () => {
    const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
    const so = { type: "message", role: "assistant", content: [{ type: "output_text", text: "so" }] };
    const result = { type: "function_call_output", call_id: "c", output: "r" };
    const input = [{ role: "user", content: "q" }, call, so, result];
    const { passthrough } = responsesRequest({ model: "m", input }, all).request;
    expect(JSON.parse(passthrough ?? "")).toMatchObject({
      messages: [{ role: "user" }, { content: "so", tool_calls: [{ id: "c" }] }, { role: "tool" }],
    });
  });

  it("takes many calls in linear time", () => {
    const call = { type: "function_call", call_id: "c", name: "f", arguments: "" };
    const input = Array.from({ length: 60_000 }, () => call);
    const { passthrough } = responsesRequest({ model: "m", input }, all).request;
    expect(passthrough).toHaveLength(
      JSON.stringify({
        messages: [
          {
            role: "assistant",
            content: null,
            tool_calls: input.map(() => ({ id: "c", type: "function", function: { name: "f", arguments: "" } })),
          },
        ],
      }).length,
    );
  });

  it.each([
    [
      { type: "function", name: "f" },
      { type: "function", function: { name: "f" } },
    ],
    [
      { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "f" }] },
      {
        type: "allowed_tools",
        allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "f" } }] },
      },
    ],
  ])("has the choice of a tool %j in the words of chat completions", (tool_choice, expected) => {
    const tools = [{ type: "function", name: "f", parameters: null }];
    const { passthrough } = responsesRequest({ model: "m", input: "q", tools, tool_choice }, all).request;
    expect(JSON.parse(passthrough ?? "")).toMatchObject({
      tools: [{ function: { name: "f" } }],
      tool_choice: expected,
    });
    expect(passthrough).not.toContain("parameters");
  });

  it("has custom tools, their calls and results in the words of chat completions", () => {
    const grammar = { syntax: "lark", definition: "start: X" };
    const body = {
      ...{ model: "m", tool_choice: { type: "custom", name: "patch" } },
      tools: [
        { type: "custom", name: "patch", description: "Edits.", format: { type: "grammar", ...grammar } },
        { type: "custom", name: "say", format: { type: "text" } },
      ],
      input: [
        { role: "user", content: "go" },
        { type: "custom_tool_call", call_id: "c1", name: "patch", input: "*** \u2028 {" },
        { type: "custom_tool_call_output", call_id: "c1", output: [{ type: "input_text", text: "done" }] },
      ],
    };
    expect(JSON.parse(responsesRequest(body, all).request.passthrough ?? "")).toEqual({
      tools: [
        { type: "custom", custom: { name: "patch", description: "Edits.", format: { type: "grammar", grammar } } },
        { type: "custom", custom: { name: "say", format: { type: "text" } } },
      ],
      tool_choice: { type: "custom", custom: { name: "patch" } },
      messages: [
        { role: "user", content: "go" },
        {
          ...{ role: "assistant", content: null },
          tool_calls: [{ id: "c1", type: "custom", custom: { name: "patch", input: "*** \u2028 {" } }],
        },
        { role: "tool", tool_call_id: "c1", content: "done" },
      ],
    });
    const wrong = { type: "custom_tool_call", call_id: "c1", name: "patch", arguments: "x" };
    expect(() => responsesRequest({ ...body, input: [wrong] }, all)).toThrow("call_id, name and input");
  });

  it("takes what agents send besides: hints of caches go on, what they say of themselves does not", () => {
    const hint = { mode: "explicit" };
    const part = { type: "input_text", text: "long", prompt_cache_breakpoint: hint };
    const url = { type: "input_image", image_url: "https://a.example/x.png", prompt_cache_breakpoint: hint };
    const body = {
      ...{ model: "m", input: [{ role: "user", content: [part, url] }], client_metadata: { "x-codex": "1" } },
      prompt_cache_options: { mode: "implicit" },
    };
    const { passthrough } = responsesRequest(body, new Set([...all, "hints" as const])).request;
    expect(JSON.parse(passthrough ?? "")).toEqual({
      prompt_cache_options: { mode: "implicit" },
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "long", prompt_cache_breakpoint: hint },
            { type: "image_url", image_url: { url: "https://a.example/x.png" }, prompt_cache_breakpoint: hint },
          ],
        },
      ],
    });
    const plain = responsesRequest({ ...body, input: [{ role: "user", content: [part] }] }).request;
    expect(plain).toMatchObject({ passthrough: null, messages: [{ content: "long" }] });
  });

  it.each<[string, object]>([
    ["client_metadata", { client_metadata: "x" }],
    ["tool_choice", { tools: [{ type: "function", name: "f" }], tool_choice: { type: "web_search_preview" } }],
    ["tools", { tools: {} }],
    ["tools[0]", { tools: [{ type: "web_search" }] }],
    ["tools", { tools: [{ type: "function", name: "f" }] }],
    ["input", { input: [] }],
    ["input[0]", { input: [7] }],
    ["input[0]", { input: [{ type: "item_reference", id: "x" }] }],
    ["input[0]", { input: [{ type: "function_call", name: "f" }] }],
    [
      "input[1].content",
      {
        input: [
          { role: "user", content: "a" },
          { role: "user", content: 7 },
        ],
      },
    ],
    ["text.stop", { text: { stop: 1 } }],
    ["max_output_tokens", { max_output_tokens: 0 }],
    ["store", { store: 1 }],
    ["text.format", { text: { format: { type: "json_object" } } }],
    ["max_tokens", { max_tokens: 5 }],
    ["input[0]", { input: [{ role: "user", content: [{ type: "input_image", image_url: "x" }] }] }],
    ["input[0].content[0]", { input: [{ role: "user", content: [{ type: "input_file", file_id: "x" }] }] }],
    ["temperature", { temperature: 9 }],
  ])("is refused for %s by name", (param, change) => {
    const refused = () => responsesRequest({ model: "auto", input: "hi", ...change });
    expect(refused).toThrow(ApiError);
    expect(refused).toThrow(expect.objectContaining({ status: 400, param }));
  });
});

describe("the conversation of a response", () => {
  it("goes on behind what is recorded of it, under instructions of its own", () => {
    const previous = ['{"role":"user","content":"a"}', '{"role":"assistant","content":"b"}'].map(
      (one) => new RawJson(one),
    );
    const body = { model: "m", instructions: "I", input: "c", previous_response_id: "resp_1" };
    const { request, echo } = responsesRequest(body, new Set(), { previous });
    expect(request.messages.map(({ role, content }) => `${role}: ${content}`)).toEqual([
      "system: I",
      "user: a",
      "assistant: b",
      "user: c",
    ]);
    expect(request.metadata).toEqual({ precedent_response: "instructions" });
    expect(echo).toMatchObject({ store: true, previous_response_id: "resp_1" });
    expect(responsesRequest({ model: "m", input: "c", store: false }).request.metadata).toEqual({});
    const metadata = { precedent_response: "instructions", a: "b" };
    const forged = { model: "m", input: "c", metadata };
    expect(responsesRequest({ ...forged, store: false }).request.metadata).toEqual({ a: "b" });
    expect(responsesRequest(forged).request.metadata).toEqual({ precedent_response: "plain", a: "b" });
    const chat = { model: "m", messages: [{ role: "user", content: "c" }], metadata };
    expect(chatRequest(chat).request.metadata).toEqual({ a: "b" });
    expect(responsesRequest({ model: "m", input: "c" }).request.metadata).toEqual({ precedent_response: "plain" });
  });
});

describe("a response", () => {
  it("has text, usage and what OpenAI's client reads of it", () => {
    expect(finishedResponse(aResponse(), of)).toMatchObject({
      ...{ id: "resp_r1", object: "response", status: "completed", created_at: 7, model: "auto" },
      output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "ls -a" }] }],
      usage: {
        input_tokens: 30,
        output_tokens: 5,
        total_tokens: 35,
        input_tokens_details: { cached_tokens: 10, cache_write_tokens: 0 },
      },
    });
    expect(finishedResponse(aResponse({ finishReason: "length" }), of)).toMatchObject({
      ...{ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
    });
  });

  it("is streamed in numbered events whose deltas are its text", () => {
    const events = createResponseEvents(of);
    const text = events.begin() + events.text("ls ") + events.text("-a") + events.end(aResponse(), []);
    const read = [...text.matchAll(/^event: (.*)\ndata: (.*)\n\n/gm)].map(([, name, data = ""]) => ({
      name,
      ...(JSON.parse(data) as { type: string; sequence_number: number; delta?: string }),
    }));
    expect(read.map(({ sequence_number }) => sequence_number)).toEqual(read.map((_, i) => i));
    expect(read.every(({ name, type }) => name === type)).toBe(true);
    expect(read.flatMap(({ delta }) => delta ?? []).join("")).toBe("ls -a");
    expect(read.at(-1)?.type).toBe("response.completed");
  });

  it("that is a refusal has it as a part of its own, streamed or not", () => {
    const refusal = "I can't help with that.";
    const refused = aResponse({ text: refusal, passthrough: JSON.stringify({ message: { refusal } }) });
    const content = [{ type: "refusal", refusal }];
    const { output } = finishedResponse(refused, of);
    expect(output).toMatchObject([{ type: "message", content }]);
    const events = createResponseEvents(of);
    const read = [...(events.begin() + events.end(refused, [])).matchAll(/^data: (.*)\n\n/gm)].map(
      ([, data = ""]) => JSON.parse(data) as { type: string; delta?: string; response?: { output: object[] } },
    );
    expect(read.slice(2).map(({ type }) => type.replace("response.", ""))).toEqual([
      ...["output_item.added", "content_part.added", "refusal.delta", "refusal.done", "content_part.done"],
      ...["output_item.done", "completed"],
    ]);
    expect(read.flatMap(({ delta }) => delta ?? []).join("")).toBe(refusal);
    expect(read.at(-1)?.response?.output).toEqual(output);
    // Where its text was sent already, the stream ends as it began.
    const begun = createResponseEvents(of);
    const all = begun.begin() + begun.text(refusal) + begun.end(refused, []);
    expect(all).toContain("response.output_text.done");
    expect(all).not.toContain('"type":"refusal"');
  });

  it("has calls of custom tools as items with their text, streamed or not", () => {
    const custom = { id: "c1", type: "custom", custom: { name: "patch", input: "a \n {" } };
    const called = { id: "c0", type: "function", function: { name: "f", arguments: "{}" } };
    const passthrough = JSON.stringify({ message: { tool_calls: [called, custom] } });
    const response = aResponse({ text: "", finishReason: "tool_calls", passthrough });
    const { output } = finishedResponse(response, of);
    expect(output).toMatchObject([
      { type: "function_call", id: "fc_r1_0", call_id: "c0", name: "f", arguments: "{}" },
      { type: "custom_tool_call", id: "ctc_r1_1", call_id: "c1", name: "patch", input: "a \n {" },
    ]);
    expect(output[1]).not.toHaveProperty("arguments");
    const events = createResponseEvents(of);
    const rest = [called, custom].map((one, index) => ({ index, ...one }));
    const read = [...(events.begin() + events.end(response, rest)).matchAll(/^data: (.*)\n\n/gm)].map(
      ([, data = ""]) => JSON.parse(data) as { type: string; item_id?: string; response?: { output: object[] } },
    );
    expect(read.filter(({ item_id }) => item_id === "ctc_r1_1")).toMatchObject([
      { type: "response.custom_tool_call_input.delta", output_index: 1, delta: "a \n {" },
      { type: "response.custom_tool_call_input.done", output_index: 1, input: "a \n {" },
    ]);
    expect(read.at(-1)?.response?.output).toEqual(output);
  });

  it("has calls of functions as items, whose pieces side by side are the final ones", () => {
    const calls = ["a", "b"].map((name, i) => ({
      id: `c${i}`,
      type: "function",
      function: { name, arguments: `{"n":${i}}` },
    }));
    const response = aResponse({
      text: "so",
      finishReason: "tool_calls",
      passthrough: JSON.stringify({ message: { tool_calls: calls } }),
    });
    const whole = finishedResponse(response, of).output as { type: string }[];
    expect(whole.map(({ type }) => type)).toEqual(["message", "function_call", "function_call"]);
    const events = createResponseEvents(of);
    const head = (index: number) => ({
      index,
      id: `c${index}`,
      type: "function",
      name: "ab"[index]!,
      arguments: '{"n"',
    });
    const stream = [
      ...[events.begin(), events.calls([head(0), head(1)]), events.text("so")],
      events.calls([{ index: 0, id: null, type: null, name: null, arguments: ":0}" }]),
      events.end(response, [{ index: 1, function: { arguments: ":1}" } }]),
    ].join("");
    const read = [...stream.matchAll(/^data: (.*)\n\n/gm)].map(
      ([, data = ""]) =>
        JSON.parse(data) as {
          type: string;
          delta?: string;
          output_index: number;
          item: object;
          response: { output: object[] };
        },
    );
    const argumentsOf = (index: number) =>
      read
        .flatMap((one) => (one.type.endsWith("arguments.delta") && one.output_index === index ? one.delta : []))
        .join("");
    expect([argumentsOf(0), argumentsOf(1)]).toEqual(['{"n":0}', '{"n":1}']);
    const done = read.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item);
    expect(read.at(-1)?.response.output).toEqual(done);
    expect(new Set(done.map((one) => JSON.stringify(one)))).toEqual(new Set(whole.map((one) => JSON.stringify(one))));
  });
});
