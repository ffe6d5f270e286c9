import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ApiError } from "../errors.ts";
import { parseJson } from "../json.ts";
import { completionRequest } from "./completions.ts";
import { checkCapable } from "./models.ts";
import { chatRequest } from "./request.ts";

const hello = { model: "auto", messages: [{ role: "user", content: "hello" }] };
function refusal(body: unknown): ApiError {
  try {
    chatRequest(body);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("it was taken");
}

describe("the body of a chat completion", () => {
  it("becomes a request with everything that it says", () => {
    const { request, stream, includeUsage, model } = chatRequest({
      model: "small",
      messages: [
        { role: "developer", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "one" },
            { type: "text", text: "two" },
          ],
        },
        { role: "assistant", content: "said", refusal: null, tool_calls: [] },
      ],
      ...{ max_tokens: 5, max_completion_tokens: 7, temperature: 0.5, top_p: 0.9, seed: 3, stop: "\n" },
      ...{ stream: true, stream_options: { include_usage: true }, user: "u1", metadata: { a: "b" } },
      precedent: {
        domain: "shell",
        documents: ["d1", { id: "d2#1" }],
        allow: { arms: ["small"], max_cost: 0.1, deadline_ms: 1_000, cost_weight: 2 },
        privacy: { cache: false, share: false, fresh: true },
        may_ask: false,
        may_compare: true,
      },
    });
    expect({ stream, includeUsage, model }).toEqual({ stream: true, includeUsage: true, model: "small" });
    expect(request).toEqual({
      ...{
        id: null,
        tenant: "default",
        domain: "shell",
        documents: ["d1", "d2#1"],
        replyPartition: null,
        deltas: false,
        createdAt: null,
      },
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "one\ntwo" },
        { role: "assistant", content: "said" },
      ],
      params: { maxTokens: 7, temperature: 0.5, topP: 0.9, seed: 3, stop: ["\n"] },
      allow: { arms: ["small"], maxCost: 0.1, deadlineMs: 1_000, costWeight: 2 },
      privacy: { cache: false, share: false, fresh: true },
      ...{ mayAsk: false, mayCompare: true, metadata: { user: "u1", a: "b" } },
      ...{ promptCacheKey: null, cacheSalt: null, batchUntil: null, passthrough: null, requires: [], account: null },
    });
  });

  it("says nothing where the body says nothing, or what is so anyway", () => {
    const plain = chatRequest(hello);
    const same = { n: 1, frequency_penalty: 0, tools: [], response_format: { type: "text" }, logprobs: false };
    expect(chatRequest({ ...hello, ...same, temperature: null, anything: null })).toEqual(plain);
    const part = { type: "text", text: "hello", cache_control: null, annotations: [] };
    expect(chatRequest({ ...hello, messages: [{ role: "user", content: [part] }] })).toEqual(plain);
    expect(plain.request.params).toEqual({ maxTokens: null, temperature: null, topP: null, seed: null, stop: [] });
  });

  it.each<[string, object]>([
    ["tools", { tools: [{ type: "function", function: { name: "f" } }] }],
    ["n", { n: 17 }],
    ["response_format", { response_format: { type: "json_object" } }],
    ["logit_bias", { logit_bias: { 50256: -100 } }],
    ["best_of", { best_of: 3 }],
    ["messages[0].content[0]", { messages: [{ role: "user", content: [{ type: "image_url", image_url: {} }] }] }],
    ["messages[0].tool_calls", { messages: [{ role: "assistant", content: null, tool_calls: [{}] }] }],
    ["messages[0].role", { messages: [{ role: "tool", tool_call_id: "x", content: "y" }] }],
    ["temperature", { temperature: 3 }],
    ["precedent", { precedent: { tenant: "other" } }],
    ["precedent.allow.deadline_ms", { precedent: { allow: { deadline_ms: 0 } } }],
  ])("refuses what can't be served, %s by name", (param, change) => {
    expect(refusal({ ...hello, ...change })).toMatchObject({ status: 400, param });
  });

  it.each<[string, object, RegExp]>([
    [
      "priority",
      { priority: 1 },
      /The parameter priority is not served: it may go before other tenants' requests\. Leave/,
    ],
    ["options.num_ctx", { options: { num_ctx: 9 } }, /loads it anew/],
    ["tools[0]", { tools: [{ type: "web_search" }] }, /prices/],
    ["messages[0].content[0].uuid", { messages: [image({ uuid: "x" })] }, /another tenant's/],
    ["messages[0].content[0].image_url", { messages: [image({ image_url: { url: "file:///x" } })] }, /are of the web/],
  ])("says why %s is never served, whatever the arms declare", (param, change, message) => {
    const served = new Set(["tools", "vision", "parameters"] as const);
    const refused = (): unknown => chatRequest({ ...hello, ...change }, served);
    expect(refused).toThrow(expect.objectContaining({ status: 400, param }) as Error);
    expect(refused).toThrow(message);
  });

  it("never lets the body name a tenant", () => {
    expect(refusal({ ...hello, tenant: "other" })).toMatchObject({ code: "unsupported_parameter" });
  });

  it("is taken or refused with 400, whatever it is", () => {
    const keys = fc.constantFrom(
      "model",
      "messages",
      "role",
      "content",
      "stop",
      "precedent",
      "allow",
      "metadata",
      "n",
      "__proto__",
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof({ maxDepth: 4 }, fc.jsonValue(), tie("object"), fc.array(tie("tree"), { maxLength: 3 })),
      object: fc.dictionary(keys, tie("tree"), { maxKeys: 4 }),
    }));
    fc.assert(
      fc.property(tree, fc.boolean(), (value, within) => {
        const body: unknown = JSON.parse(
          JSON.stringify(within && typeof value === "object" ? { ...hello, ...value } : value),
        );
        try {
          const { request } = chatRequest(body);
          expect(request.messages.every(({ content }) => typeof content === "string")).toBe(true);
        } catch (error) {
          expect(error).toMatchObject({ name: "ApiError", status: 400 });
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("JSON", () => {
  it("is refused where it is nested too deep, however long it is", () => {
    for (const [open, close] of [
      ["[", "]"],
      ['{"a":', "}"],
    ] as const) {
      expect(() => parseJson(`${open.repeat(65)}1${close.repeat(65)}`)).toThrow("deeper than 64");
      expect(() => parseJson(open.repeat(500_000))).toThrow("deeper than 64");
      expect(() => parseJson(`${open.repeat(64)}1${close.repeat(64)}`)).not.toThrow();
    }
  });
  it("counts no brackets in strings", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("[", "{", '"', "\\", "]", "a") }), (text) => {
        expect(parseJson(JSON.stringify({ text: text.repeat(70) }))).toEqual({ text: text.repeat(70) });
      }),
    );
  });
});

describe("what arms declare to serve besides text", () => {
  const all = new Set(["tools", "vision", "parameters"] as const);
  const tools = [{ type: "function", function: { name: "f" } }];
  const passed = (change: object) => {
    const { request, fields } = chatRequest({ ...hello, ...change }, all);
    const { passthrough, requires, privacy, messages } = request;
    return { members: JSON.parse(passthrough ?? "null") as unknown, requires, privacy, messages, fields };
  };

  it("goes on as it is, and is neither kept nor shown unless the body says so", () => {
    const format = { response_format: { type: "json_object" } };
    expect(passed({ tools, tool_choice: "auto", parallel_tool_calls: false, ...format })).toMatchObject({
      members: { tools, tool_choice: "auto", parallel_tool_calls: false, ...format },
      requires: ["tools", "parameters"],
      privacy: { cache: false, share: false },
    });
    const precedent = { privacy: { cache: true, share: true } };
    expect(passed({ logprobs: true, top_logprobs: 2, precedent })).toMatchObject({
      ...{ members: { logprobs: true, top_logprobs: 2 }, privacy: { cache: true, share: true } },
    });
  });

  it("goes on as it is written: digits, spellings, order, repeated members within", () => {
    const schema =
      '{ "const": 9007199254740993, "minimum":-0,"maximum":1e400, "multipleOf":0.1E1, "x":1.0, "x":2.50, "\\u0061":"\\u0040\\/ü", "__proto__":{"a":1} }';
    const written = `[ {"type":"function","function":{"name":"f","parameters":${schema}}} ]`;
    const bias = '{"50256": -1e2}';
    const text = `{"tools":[], "model":"precedent","logit_bias":${bias}, "messages":[{"role":"user","content":"hi"}],
      "tools" :\t${written} , "tool_choice":null}`;
    const { request } = chatRequest(JSON.parse(text), all, text);
    expect(request.passthrough).toBe(`{"tools":${written},"logit_bias":${bias}}`);
    const turns = '[{"role":"user","content":"hi","name":"n","weight":123456789012345678901}]';
    const named = `{"messages": ${turns}, "model": "precedent"}`;
    expect(chatRequest(JSON.parse(named), all, named).request.passthrough).toBe(`{"messages":${turns}}`);
  });

  it("has messages as they are beside their text, where they are not text alone", () => {
    const messages = [
      { role: "user", content: [{ type: "image_url", image_url: { url: "data:x" } }] },
      { role: "assistant", content: null, tool_calls: [{ id: "1", type: "function", function: {} }] },
      { role: "tool", tool_call_id: "1", content: "12" },
    ];
    expect(passed({ messages })).toMatchObject({
      members: { messages },
      requires: ["tools", "vision"],
      messages: [
        { role: "user", content: "[image_url]" },
        { role: "assistant", content: "" },
        { role: "tool", content: "12" },
      ],
    });
    expect(passed({ messages }).fields.get("vision")).toBe("messages[0].content[0]");
  });

  it.each<[string, object]>([
    ["store", { store: true }],
    ["service_tier", { service_tier: "priority" }],
    ["kv_transfer_params", { kv_transfer_params: { do_remote_prefill: true, remote_host: "10.0.0.1" } }],
    ["bootstrap_host", { bootstrap_host: "10.0.0.1" }],
    ["modalities", { modalities: ["audio"] }],
    ["messages[0].content[0]", { messages: [{ role: "user", content: [{ type: "input_audio", input_audio: {} }] }] }],
    ["precedent.documents", { messages: [{ role: "user", name: "a", content: "x" }], precedent: { documents: ["d"] } }],
  ])("is refused with %s, which no arm supports", (param, change) => {
    expect(() => chatRequest({ ...hello, ...change }, all)).toThrow(expect.objectContaining({ status: 400, param }));
  });

  it("of an old completion goes on as it is written, too", () => {
    const schema = '{"type":"integer","maximum":9223372036854775807, "multipleOf":1.0}';
    const text = `{"model":"auto","prompt":["hi"],"guided_json":${schema},"__proto__":{"n":1e400},"service_tier":"flex"}`;
    const { request } = completionRequest(JSON.parse(text), all, text);
    expect(() => completionRequest({ ...JSON.parse(text), priority: 1 }, all)).toThrow(/priority/);
    expect(request.passthrough).toBe(`{"guided_json":${schema},"__proto__":{"n":1e400},"service_tier":"flex"}`);
    expect(request.messages).toEqual([{ role: "user", content: "hi" }]);
  });

  it("is refused by its field where no arm that may answer has it", () => {
    const { fields } = chatRequest({ ...hello, tools, logprobs: true }, all);
    const arm = (name: string, ...capabilities: ("tools" | "parameters")[]) => ({ name, model: name, capabilities });
    const arms = [arm("a", "tools"), arm("b", "tools", "parameters")];
    expect(() => checkCapable(null, fields, arms)).not.toThrow();
    // An experimental arm answers only requests that name no other.
    const tried = arms.map((arm) => ({ ...arm, experimental: arm.name === "b" }));
    expect(() => checkCapable(null, fields, tried)).toThrow();
    expect(() => checkCapable(["a", "b"], fields, tried)).toThrow();
    expect(() => checkCapable(["b"], fields, tried)).not.toThrow();
    expect(() => checkCapable(["a"], fields, arms)).toThrow(
      expect.objectContaining({ status: 400, code: "unsupported_parameter", param: "logprobs" }),
    );
  });
});

describe("hints for an engine's cache", () => {
  const hinted = '{"type":"text", "text":"long","cache_control":{"ttl":"1h", "type":"ephemeral"}}';
  const text = `{"model":"auto","messages":[{"role":"system","content":[${hinted}]},{"role":"user","content":"hi"}]}`;
  const read = (served: ("tools" | "parameters" | "hints")[], json = text) =>
    chatRequest(JSON.parse(json), new Set(served), json).request;

  it("are kept beside the request, which stays what it is", () => {
    const { request } = chatRequest({ ...hello, prompt_cache_key: "k", cache_salt: "s" });
    expect(request).toEqual({ ...chatRequest(hello).request, promptCacheKey: "k", cacheSalt: "s" });
    expect(chatRequest({ ...hello, prompt_cache_key: "", cache_salt: null }).request).toEqual(
      chatRequest(hello).request,
    );
    for (const wrong of [{ prompt_cache_key: 1 }, { prompt_cache_key: "k".repeat(1_025) }, { cache_salt: ["s"] }])
      expect(() => chatRequest({ ...hello, ...wrong })).toThrow(ApiError);
  });

  it("in parts of messages go out byte for byte where every arm takes them, or beside tools", () => {
    const request = read(["parameters", "hints"]);
    expect(request.passthrough).toContain(hinted);
    expect(request).toMatchObject({ requires: ["parameters"], messages: [{ content: "long" }, { content: "hi" }] });
    const tools = text.replace("{", '{"tools":[{"type":"function"}],');
    expect(read(["tools"], tools)).toMatchObject({
      requires: ["tools"],
      passthrough: expect.stringContaining(hinted) as string,
    });
  });

  const breakpoint = '{"type":"text", "text":"long","prompt_cache_breakpoint":{"ttl":"12h", "mode":"explicit"}}';
  const openAis = text
    .replace(hinted, breakpoint)
    .replace("{", '{"prompt_cache_options":{"mode": "explicit"},"prompt_cache_retention":"24h",');
  it("of OpenAI are no more than these: they go out as written, or are left out", () => {
    const request = read(["parameters", "hints"], openAis);
    expect(request).toMatchObject({ requires: ["parameters"], messages: [{ content: "long" }, { content: "hi" }] });
    for (const one of [breakpoint, '"prompt_cache_options":{"mode": "explicit"}', '"prompt_cache_retention":"24h"'])
      expect(request.passthrough).toContain(one);
    for (const served of [[], ["parameters"], ["tools"]] as const)
      expect(read([...served], openAis)).toEqual(read([], text.replace(`[${hinted}]`, '"long"')));
    // Beside a parameter that chooses such arms they go along, and not beside tools alone.
    const format = openAis.replace("{", '{"logit_bias":{"7":1},');
    expect(read(["parameters"], format).passthrough).toContain("prompt_cache_options");
    const tools = openAis.replace("{", '{"tools":[{"type":"function"}],');
    expect(read(["tools", "parameters"], tools)).toMatchObject({ requires: ["tools"] });
    expect(read(["tools", "parameters"], tools).passthrough).not.toContain("prompt_cache_options");
    const odd = { type: "text", text: "a", prompt_cache_breakpoint: "x" };
    expect(() => chatRequest({ ...hello, messages: [{ role: "user", content: [odd] }] })).toThrow(ApiError);
  });

  it("are left out where not every arm does: a hint chooses none, and the request is as without it", () => {
    const plain = read([], text.replace(`[${hinted}]`, '"long"'));
    for (const served of [[], ["parameters"]] as const) expect(read([...served])).toEqual(plain);
    const documents = text.replace("{", '{"precedent":{"documents":["d"]},');
    expect(read(["parameters"], documents)).toMatchObject({ passthrough: null, documents: ["d"] });
  });
});

function image(more: object): object {
  return { role: "user", content: [{ type: "image_url", image_url: { url: "https://a.example/x.png" }, ...more }] };
}
