// Bodies of Anthropic's clients become equivalent chat completions.
import { describe, expect, it } from "vitest";
import type { Capability } from "../../../algorithms/routing/passthrough.ts";
import { ApiError } from "../../errors.ts";
import type { Served } from "../request.ts";
import { messagesRequest } from "./request.ts";

const all: Served = new Set(["tools", "vision", "parameters", "hints"]);
const base = { model: "auto", max_tokens: 50, messages: [{ role: "user", content: "hello" }] };
const read = (body: object, served: Served = all) => messagesRequest({ ...base, ...body }, served);
const sent = (body: object) => JSON.parse(read(body).request.passthrough ?? "null") as Record<string, unknown>;

function refusal(body: object, served?: Served): Pick<ApiError, "code" | "param" | "message"> {
  try {
    read(body, served);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

describe("text", () => {
  it("is an ordinary request, which may have examples and cached answers", () => {
    const { request, model, stream } = read({
      system: [
        { type: "text", text: "Be brief." },
        { type: "text", text: "Be kind." },
      ],
      messages: [
        { role: "user", content: [{ type: "text", text: "one" }] },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hm", signature: "s" },
            { type: "text", text: "two" },
          ],
        },
        { role: "user", content: "three" },
      ],
      ...{ temperature: 0.5, top_p: 0.9, stop_sequences: ["END"], stream: true, metadata: { user_id: "u1" } },
      ...{ thinking: { type: "enabled", budget_tokens: 2_000 }, service_tier: "auto", mcp_servers: [] },
      precedent: { domain: "geo" },
    });
    expect({ model, stream }).toEqual({ model: "auto", stream: true });
    expect(request.messages).toEqual([
      { role: "system", content: "Be brief.\nBe kind." },
      { role: "user", content: "one" },
      { role: "assistant", content: "two" },
      { role: "user", content: "three" },
    ]);
    expect(request).toMatchObject({
      params: { maxTokens: 50, temperature: 0.5, topP: 0.9, stop: ["END"] },
      ...{ passthrough: null, requires: [], domain: "geo", metadata: { user: "u1" } },
      privacy: { cache: true, share: true },
    });
  });
});

describe("tools", () => {
  it("go as OpenAI has them, inputs and schemas as they are written", () => {
    const text = `{"model":"auto","max_tokens":9,"tools":[{"name":"pay","description":"d","input_schema":{"type":"object","maximum":12345678901234567890,"x":1.0}}],
      "tool_choice":{"type":"any","disable_parallel_tool_use":true},
      "messages":[{"role":"user","content":"pay"},
        {"role":"assistant","content":[{"type":"text","text":"now"},{"type":"tool_use","id":"t1","name":"pay","input":{"to": 12345678901234567890, "amount":1.50}}]},
        {"role":"user","content":[{"type":"text","text":"and?"},{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"paid"},{"type":"text","text":"twice"}]},
          {"type":"tool_result","tool_use_id":"t2"}]}]}`;
    const { passthrough, requires } = messagesRequest(JSON.parse(text), all, { text }).request;
    expect(requires).toEqual(["tools"]);
    expect(passthrough).toContain('"parameters":{"type":"object","maximum":12345678901234567890,"x":1.0}');
    expect(JSON.parse(passthrough ?? "")).toEqual({
      messages: [
        { role: "user", content: "pay" },
        {
          ...{ role: "assistant", content: "now" },
          tool_calls: [
            {
              ...{ id: "t1", type: "function" },
              function: { name: "pay", arguments: '{"to": 12345678901234567890, "amount":1.50}' },
            },
          ],
        },
        { role: "tool", tool_call_id: "t1", content: "paid\ntwice" },
        { role: "tool", tool_call_id: "t2", content: "" },
        { role: "user", content: "and?" },
      ],
      tools: [
        { type: "function", function: { name: "pay", description: "d", parameters: expect.anything() as object } },
      ],
      ...{ tool_choice: "required", parallel_tool_calls: false },
    });
  });

  const tools = [{ name: "a", input_schema: { type: "object" } }];
  it.each([
    [{ type: "auto" }, { tool_choice: "auto" }],
    [{ type: "none" }, { tool_choice: "none" }],
    [{ type: "tool", name: "a" }, { tool_choice: { type: "function", function: { name: "a" } } }],
  ])("choice %o", (tool_choice, expected) => {
    expect(sent({ tools, tool_choice })).toMatchObject(expected);
  });
  it("a call without a text has none", () => {
    const messages = [{ role: "assistant", content: [{ type: "tool_use", id: "t", name: "a", input: {} }] }];
    expect(sent({ messages: [...base.messages, ...messages] })["messages"]).toContainEqual(
      expect.objectContaining({ content: null }),
    );
  });
});

describe("images and formats", () => {
  it("go as OpenAI has them, also in results of tools", () => {
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } };
    const url = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };
    const content = [{ type: "text", text: "what?" }, url, { type: "tool_result", tool_use_id: "t", content: [image] }];
    expect(sent({ messages: [{ role: "user", content }] })["messages"]).toEqual([
      {
        role: "tool",
        tool_call_id: "t",
        content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }],
      },
      {
        role: "user",
        content: [
          { type: "text", text: "what?" },
          { type: "image_url", image_url: { url: "https://example.com/a.png" } },
        ],
      },
    ]);
  });
  it("a schema is a format; effort alone is a wish", () => {
    const schema = { type: "object", properties: { a: { const: 1 } } };
    expect(sent({ output_config: { effort: "low", format: { type: "json_schema", schema } } })).toEqual({
      response_format: { type: "json_schema", json_schema: { name: "answer", strict: true, schema } },
    });
    expect(read({ output_config: { effort: "low" } }).request.passthrough).toBeNull();
  });
  it("hints for caches go on where the messages can, and else make no difference", () => {
    const cache_control = { type: "ephemeral", ttl: "1h" };
    const text = (hint: object) => ({ type: "text", text: "long", ...hint });
    const of = (hint: object) => ({ system: [text(hint)], messages: [{ role: "user", content: [text(hint)] }] });
    expect(sent(of({ cache_control }))["messages"]).toEqual([
      { role: "system", content: [text({ cache_control })] },
      { role: "user", content: [text({ cache_control })] },
    ]);
    const some = new Set<Capability>(["parameters"]);
    expect(read(of({ cache_control }), some).request).toEqual(read(of({}), some).request);
    const result = { type: "tool_result", tool_use_id: "t", content: "r", cache_control };
    expect(sent({ messages: [{ role: "user", content: [result] }] })["messages"]).toEqual([
      { role: "tool", tool_call_id: "t", content: [{ type: "text", text: "r", cache_control }] },
    ]);
    const use = { type: "tool_use", id: "t", name: "pay", input: {} };
    const called = { name: "pay", arguments: "{}" };
    const hinted = sent({
      tools: [{ name: "pay", input_schema: {}, cache_control }, { name: "look" }],
      messages: [
        {
          role: "assistant",
          content: [
            { ...use, cache_control },
            { ...use, cache_control: "x" },
          ],
        },
      ],
    });
    expect(hinted["tools"]).toEqual([
      { type: "function", function: { name: "pay", parameters: {} }, cache_control },
      { type: "function", function: { name: "look" } },
    ]);
    expect(hinted["messages"]).toMatchObject([
      {
        tool_calls: [
          { id: "t", type: "function", function: called, cache_control },
          { id: "t", type: "function", function: called },
        ],
      },
    ]);
  });
  it("wishes are read over, empty turns are left out, and a system text may come amid the others", () => {
    const messages = [
      ...base.messages,
      { role: "assistant", content: [{ type: "thinking", thinking: "hm", signature: "s" }] },
      { role: "system", content: [{ type: "text", text: "Now be brief." }] },
    ];
    const context_management = { edits: [{ type: "clear_thinking_20251015", keep: "all" }] };
    const diagnostics = { previous_message_id: null };
    const wishes = { context_management, speed: "standard", inference_geo: "global", diagnostics };
    const { request } = read({ messages, system: [], ...wishes });
    expect(request.messages).toEqual([
      { role: "user", content: "hello" },
      { role: "system", content: "Now be brief." },
    ]);
    const tool = { type: null, name: "f", strict: true, input_schema: { type: "object" } };
    expect(sent({ tools: [tool] })["tools"]).toMatchObject([{ function: { name: "f", strict: true } }]);
  });
  it("a document of text is text", () => {
    const content = [{ type: "document", title: "T", source: { type: "text", data: "facts" } }];
    expect(read({ messages: [{ role: "user", content }] }).request.messages).toEqual([
      { role: "user", content: "T\nfacts" },
    ]);
  });
});

describe("what is refused names the member of the body", () => {
  const user = (content: unknown) => ({ messages: [{ role: "user", content }] });
  it.each([
    [{ betas: ["x"] }, "betas", "unsupported_parameter"],
    [{ mcp_servers: [{ url: "x" }] }, "mcp_servers", "unsupported_parameter"],
    [{ messages: "x" }, "messages", "invalid_value"],
    [{ messages: [] }, "messages", "invalid_value"],
    [{ messages: [{ role: "tool", content: "x" }] }, "messages[0]", "invalid_value"],
    [{ tools: {} }, "tools", "invalid_value"],
    [{ messages: [null] }, "messages[0]", "invalid_value"],
    [user(7), "messages[0].content", "invalid_value"],
    [user([7]), "messages[0].content[0]", "invalid_value"],
    [user([{ type: "search_result" }]), "messages[0].content[0]", "unsupported_value"],
    [
      user([{ type: "image", source: { type: "file", file_id: "f" } }]),
      "messages[0].content[0].source",
      "unsupported_value",
    ],
    [user([{ type: "document", source: { type: "base64", data: "" } }]), "messages[0].content[0]", "unsupported_value"],
    [user([{ type: "tool_result" }]), "messages[0].content[0]", "invalid_value"],
    [{ tools: [{ type: "web_search_20250305", name: "web_search" }] }, "tools[0]", "unsupported_value"],
    [{ tools: [{ input_schema: {} }] }, "tools[0]", "invalid_value"],
    [{ tools: [{ name: "a" }], tool_choice: { type: "tool" } }, "tool_choice", "invalid_value"],
    [{ stop_sequences: [""] }, "stop_sequences[0]", "invalid_value"],
    [{ stop_sequences: 5 }, "stop_sequences", "invalid_value"],
    [{ max_tokens: 0 }, "max_tokens", "invalid_value"],
    [{ output_config: { format: { type: "xml" } } }, "output_config.format", "invalid_value"],
  ])("%j", (body, param, code) => {
    expect(refusal(body)).toMatchObject({ param, code });
  });
  it("and what no arm declares, by its place in this body", () => {
    const image = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };
    const body = { system: "s", messages: [...base.messages, { role: "user", content: [image] }] };
    const { param, message } = refusal(body, new Set(["tools"]));
    expect(param).toBe("messages[1]");
    expect(message).toContain("messages[1]");
    expect(refusal({ tools: [{ name: "a" }] }, new Set())).toMatchObject({ param: "tools" });
  });
});
