import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RowProblem, type Json } from "../foreign.ts";
import { logRowOf } from "../log-row.ts";
import type { LogRow } from "../../../state/log-replay-row.ts";
import { presets } from "./presets.ts";
import type { ForeignFeedback } from "./preset.ts";

function read(preset: string, row: Json): LogRow | ForeignFeedback {
  const mapped = presets[preset]!(row);
  return "feedback" in mapped ? mapped.feedback : logRowOf(mapped.columns, { index: 1 });
}
const log = (preset: string, row: Json): LogRow => read(preset, row) as LogRow;
const question = [{ role: "user", content: "list files" }];
const call = { id: "c1", type: "function", function: { name: "ls", arguments: '{"path":"/"}' } };

const payload = {
  ...{ id: "call-1", call_type: "acompletion", status: "success", startTime: 1_700_000_000.5, response_time: 1.25 },
  ...{ completionStartTime: 1_700_000_000.75, endTime: 1_700_000_001.75, model: "openai/gpt-4o-mini" },
  ...{ model_group: "large", messages: question, cache_hit: null, end_user: "ann" },
  response: { choices: [{ finish_reason: "length", message: { role: "assistant", content: "ls" } }] },
  ...{ response_cost: 0.002, prompt_tokens: 12, completion_tokens: 1, model_parameters: { temperature: 0 } },
  metadata: {
    user_api_key_team_alias: "acme",
    usage_object: { prompt_tokens_details: { cached_tokens: 8 } },
  },
};
const spendLog = {
  ...{ request_id: "chatcmpl-1", call_type: "acompletion", cache_hit: "False", spend: 0.01, status: "success" },
  ...{
    startTime: "2026-01-02 03:04:05.678",
    endTime: "2026-01-02 03:04:06.678+00",
    model: "gpt-4o",
    model_group: "big",
  },
  ...{ prompt_tokens: 12, completion_tokens: 5, messages: "{}", user: "owner", end_user: "", team_id: "t9" },
  proxy_server_request: JSON.stringify({
    messages: question,
    user: "bob",
    max_tokens: 9,
    tools: [{ type: "function" }],
  }),
  response: JSON.stringify({ choices: [{ message: { role: "assistant", content: null, tool_calls: [call] } }] }),
  metadata: JSON.stringify({ additional_usage_values: { cache_read_input_tokens: 3 } }),
};
const observation = {
  ...{ id: "o1", type: "GENERATION", startTime: "2024-05-29T13:46:19.963Z", endTime: "2024-05-29T13:46:21.963Z" },
  ...{ completionStartTime: "2024-05-29T13:46:20.463Z", providedModelName: "gpt-4o", userId: "ann", traceId: "t1" },
  ...{ input: { messages: question }, output: { role: "assistant", content: "ls" }, totalCost: 0.5 },
  usageDetails: { input: 3, input_cached_tokens: 7, output: 1, output_reasoning_tokens: 4, total: 15 },
  ...{ costDetails: { input: 0.3, output: 0.2, total: 0.5 }, modelParameters: { temperature: 1, max_tokens: 7 } },
  ...{ accuracy: [0.25, 0.75], rank: [7], label: ["a"], traceTags: [] },
};
const chatInference = {
  ...{ id: "019562dc-d5b0-7e43-800d-3a5d37ec37a3", function_name: "shell", variant_name: "small" },
  episode_id: "019562dc-d5b0-7e43-800d-3a6c90389054",
  input: JSON.stringify({
    system: "Be short.",
    messages: [{ role: "user", content: [{ type: "text", text: "list files" }] }],
  }),
  output: JSON.stringify([
    { type: "thought", text: "hm" },
    { type: "text", text: "ls" },
  ]),
  inference_params: JSON.stringify({ chat_completion: { temperature: 0.5, max_tokens: 20 } }),
  ...{ processing_time_ms: 40, ttft_ms: 10, tags: { user_id: "ann", page: "1" } },
};
const modelInference = {
  ...{ id: "019562dc-d5b0-7e43-800d-3a5d37ec0000", inference_id: chatInference.id, model_name: "gpt-4o" },
  ...{
    system: "Be short.",
    input_messages: JSON.stringify([{ role: "user", content: [{ type: "text", text: "list files" }] }]),
  },
  output: '[{"type":"text","text":"ls"}]',
  ...{ input_tokens: 9, output_tokens: 2, provider_cache_read_input_tokens: 4, response_time_ms: 30, ttft_ms: null },
  ...{ cached: false, cost: 0.001, finish_reason: "stop_sequence" },
};
const heliconeRow = {
  ...{ request_id: "r1", response_id: "s1", response_status: 200, request_created_at: "2026-01-02T03:04:05.678Z" },
  request_body: { model: "gpt-4o", messages: question, temperature: 0.2 },
  response_body: { choices: [{ message: { role: "assistant", content: "ls" } }], usage: { prompt_tokens: 4 } },
  ...{ request_user_id: "ann", request_properties: { App: "x" }, request_model: "gpt-4o", model: "gpt-4o" },
  ...{ delay_ms: 700, time_to_first_token: 100, prompt_tokens: 4, completion_tokens: 1, prompt_cache_read_tokens: 2 },
  ...{ cost: 0.5, costUSD: 0.5, feedback_rating: null, scores: { good: { value: 1, valueType: "boolean" } } },
  cache_reference_id: "00000000-0000-0000-0000-000000000000",
};

describe("LiteLLM", () => {
  it("is read from the logging payload", () => {
    expect(log("litellm", payload)).toMatchObject({
      request: {
        ...{
          id: "call-1",
          tenant: "acme",
          messages: question,
          metadata: { user: "ann" },
          createdAt: 1_700_000_000_500,
        },
        params: { temperature: 0 },
      },
      answer: {
        ...{ arm: "large", model: "openai/gpt-4o-mini", text: "ls", finishReason: "length", cost: 0.002 },
        ...{ promptTokens: 12, prefilledTokens: 4, completionTokens: 1, serviceMs: 1_250, firstTokenMs: 250 },
      },
    });
  });

  it("is read from spend logs, whose question is what the proxy got", () => {
    expect(log("litellm", spendLog)).toMatchObject({
      request: {
        ...{ id: "chatcmpl-1", tenant: "t9", messages: question, metadata: { user: "bob" } },
        ...{ createdAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678), params: { maxTokens: 9 } },
      },
      answer: {
        ...{ arm: "big", text: "", finishReason: "tool_calls", cost: 0.01, serviceMs: 1_000, prefilledTokens: 9 },
        passthrough: JSON.stringify({ message: { tool_calls: [call] } }),
      },
    });
    expect(log("litellm", { ...spendLog, cache_hit: "True" }).answer).toMatchObject({ serviceMs: null });
  });

  it.each([
    [{ status: "failure" }, /status/],
    [{ call_type: "aembedding" }, /call_type/],
    [{ messages: [{ role: "user", content: "redacted-by-litellm" }] }, /redacted/],
    [{ messages: [{ role: "user", content: "a... (litellm_truncated skipped 9 chars) ...b" }] }, /cut off/],
    [{ messages: {}, proxy_server_request: "{}" }, /no question/],
  ])("is left out with %j", (more, reason) => {
    expect(() => read("litellm", { ...payload, ...more })).toThrow(reason);
  });

  it("has no answer where only that is redacted", () => {
    expect(log("litellm", { ...payload, response: "redacted-by-litellm" }).answer).toMatchObject({ text: null });
  });
});

describe("Langfuse", () => {
  it("is read from its interface's export, whose scores are columns", () => {
    expect(log("langfuse", observation)).toMatchObject({
      request: {
        ...{ id: "o1", messages: question, metadata: { user: "ann", trace_id: "t1" } },
        params: { temperature: 1, maxTokens: 7 },
      },
      answer: {
        ...{ arm: "gpt-4o", text: "ls", reward: 0.5, cost: 0.5, promptTokens: 10, prefilledTokens: 3 },
        ...{ completionTokens: 5, serviceMs: 2_000, firstTokenMs: 500 },
      },
    });
  });

  it("is read from blob storage and CSV, with JSON in texts", () => {
    const row = {
      ...{ id: "o1", type: "GENERATION", start_time: "2024-05-29 13:46:19.963000", provided_model_name: "gpt-4o" },
      ...{ input: JSON.stringify({ messages: question }), output: '{"role":"assistant","content":"ls"}', latency: "2" },
      ...{ usage_details: '{"input":"3","output":1,"total":4}', total_cost: "0.5", user_id: "ann" },
      scores: { good: [1], rank: [7], b: [0] },
    };
    expect(log("langfuse", row)).toMatchObject({
      request: { messages: question, createdAt: Date.UTC(2024, 4, 29, 13, 46, 19, 963), metadata: { user: "ann" } },
      answer: { text: "ls", reward: 0.5, cost: 0.5, promptTokens: 3, completionTokens: 1, serviceMs: 2_000 },
    });
    expect(
      log("langfuse", { ...row, input: "plain", output: "text", scores: [{ name: "x", value: true }] }),
    ).toMatchObject({
      ...{ request: { messages: [{ role: "user", content: "plain" }] }, answer: { text: "text", reward: 1 } },
    });
  });

  it("keeps calls of tools and their results", () => {
    const messages = [
      ...question,
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", content: "a.txt" },
    ];
    const { request } = log("langfuse", { ...observation, input: messages });
    expect(request.messages).toEqual([
      ...question,
      { role: "assistant", content: "" },
      { role: "tool", content: "a.txt" },
    ]);
    expect(JSON.parse(request.passthrough ?? "")).toEqual({
      messages: [question[0], { role: "assistant", content: "", tool_calls: [call] }, messages[2]],
    });
  });

  it("has scores in files of their own, on observations and traces", () => {
    const score = { id: "s1", trace_id: "t1", observation_id: null, name: "good", value: 1, data_type: "NUMERIC" };
    expect(read("langfuse", score)).toMatchObject({ target: "t1", group: "trace_id", value: 1, author: "good" });
    expect(read("langfuse", { ...score, observation_id: "o1" })).toMatchObject({ target: "o1", group: null });
    expect(() => read("langfuse", { ...score, value: 7 })).toThrow(/within 0 and 1/);
    // The value of a category is its index.
    for (const type of ["CATEGORICAL", "CORRECTION", "TEXT"])
      expect(() => read("langfuse", { ...score, value: 0, data_type: type })).toThrow(RowProblem);
    const tone = { name: "tone", value: 0, stringValue: "excellent", dataType: "CATEGORICAL" };
    const rewardWith = (scores: object[]) => log("langfuse", { ...observation, scores }).answer?.reward;
    expect(rewardWith([tone])).toBe(rewardWith([]));
  });

  it("takes tokens and costs from the first that has any", () => {
    const { answer } = log("langfuse", {
      ...observation,
      ...{ usageDetails: {}, usage: { input: 10, output: 5, inputCost: 0.6 } },
      ...{ totalCost: null, costDetails: { total: 0.05 } },
    });
    expect(answer).toMatchObject({ promptTokens: 10, completionTokens: 5, cost: 0.05 });
  });

  it("leaves out spans, failures and traces", () => {
    for (const more of [{ type: "SPAN" }, { level: "ERROR" }, { type: null, providedModelName: null }])
      expect(() => read("langfuse", { ...observation, ...more })).toThrow(RowProblem);
  });
});

describe("TensorZero", () => {
  it("is read from ChatInference, whose time is in its id", () => {
    expect(log("tensorzero", chatInference)).toMatchObject({
      request: {
        ...{
          id: chatInference.id,
          domain: "shell",
          createdAt: 0x019562dcd5b0,
          params: { temperature: 0.5, maxTokens: 20 },
        },
        messages: [{ role: "system", content: "Be short." }, ...question],
        metadata: { user: "ann", page: "1", episode_id: chatInference.episode_id },
      },
      answer: { arm: "small", text: "ls", serviceMs: 40, firstTokenMs: 10 },
    });
  });

  it("is read from JsonInference and ModelInference", () => {
    const json = { ...chatInference, output: '{"raw":"{\\"n\\":9007199254740993}","parsed":{"n":9007199254740993}}' };
    expect(log("tensorzero", json).answer?.text).toBe('{"n":9007199254740993}');
    expect(log("tensorzero", modelInference)).toMatchObject({
      request: { id: chatInference.id, messages: [{ role: "system", content: "Be short." }, ...question] },
      answer: {
        ...{ arm: "gpt-4o", text: "ls", promptTokens: 9, prefilledTokens: 5, completionTokens: 2, cost: 0.001 },
        ...{ serviceMs: 30, finishReason: "stop" },
      },
    });
    expect(log("tensorzero", { ...modelInference, cached: 1 }).answer?.serviceMs).toBeNull();
  });

  it("has feedback on inferences and episodes, and demonstrations", () => {
    const { id, episode_id: target } = chatInference;
    const metric = { id, target_id: target, metric_name: "good", value: true, tags: {} };
    expect(read("tensorzero", metric)).toMatchObject({ target, group: "episode_id", value: 1, author: "good" });
    expect(read("tensorzero", { ...metric, value: 0.25 })).toMatchObject({ value: 0.25, createdAt: 0x019562dcd5b0 });
    expect(() => read("tensorzero", { ...metric, value: 12 })).toThrow(/within 0 and 1/);
    expect(() => read("tensorzero", { ...metric, target_type: "inference", value: "nice" })).toThrow(/comment/);
    const shown = { id, inference_id: id, value: '[{"type":"text","text":"ls -l"}]' };
    expect(read("tensorzero", shown)).toMatchObject({ target: id, text: "ls -l", value: null });
  });

  it("takes datapoints as questions with the answer that is wanted", () => {
    const { variant_name: _variant, ...rest } = chatInference;
    const row = {
      ...rest,
      dataset_name: "d",
      updated_at: "2026-01-01 00:00:00.000000",
      is_deleted: false,
      staled_at: null,
    };
    expect(log("tensorzero", row)).toMatchObject({ answer: null, correction: "ls", request: { domain: "shell" } });
    expect(() => read("tensorzero", { ...row, is_deleted: 1 })).toThrow(/deleted/);
    expect(() => read("tensorzero", { ...row, staled_at: "2026-01-01 00:00:00" })).toThrow(/deleted/);
  });
});

describe("Helicone", () => {
  it("is read from its export, with users, properties and scores", () => {
    expect(log("helicone", heliconeRow)).toMatchObject({
      request: {
        ...{ id: "r1", messages: question, metadata: { user: "ann", App: "x" }, params: { temperature: 0.2 } },
        createdAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
      },
      answer: {
        ...{
          arm: "gpt-4o",
          text: "ls",
          cost: 0.5,
          reward: 1,
          promptTokens: 4,
          prefilledTokens: 2,
          completionTokens: 1,
        },
        ...{ serviceMs: 700, firstTokenMs: 100 },
      },
    });
    // Anthropic's cache is beside the input, in the body as in the row.
    const usage = { input_tokens: 4, cache_read_input_tokens: 100, output_tokens: 1 };
    const anthropic = { content: [{ type: "text", text: "ls" }], role: "assistant" };
    for (const response_body of [{ ...anthropic, usage }, anthropic])
      expect(log("helicone", { ...heliconeRow, prompt_cache_read_tokens: 100, response_body }).answer).toMatchObject({
        ...{ promptTokens: 104, prefilledTokens: 4, text: "ls" },
      });
    expect(log("helicone", { ...heliconeRow, feedback_rating: "false" }).answer?.reward).toBe(0);
  });

  it("is read from its table, and from bodies of Anthropic and Gemini", () => {
    const table = {
      ...{
        organization_id: "o",
        status: 200,
        latency: 5,
        cost: 2_000_000,
        user_id: "bob",
        model: "claude",
        request_id: "r",
      },
      request_created_at: "2026-01-02 03:04:05.678",
      request_body: JSON.stringify({
        system: "s",
        messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
      }),
      response_body: JSON.stringify({ content: [{ type: "text", text: "ho" }], stop_reason: "end_turn" }),
    };
    expect(log("helicone", table)).toMatchObject({
      request: { messages: [{ role: "system" }, { role: "user", content: "hi" }], metadata: { user: "bob" } },
      answer: { text: "ho", finishReason: "stop", cost: 0.002, serviceMs: 5 },
    });
    const gemini = {
      request_body: {
        contents: [{ role: "user", parts: [{ text: "hi" }] }],
        systemInstruction: { parts: [{ text: "s" }] },
      },
      response_body: { candidates: [{ content: { parts: [{ text: "ho" }] }, finishReason: "STOP" }] },
    };
    expect(log("helicone", { ...heliconeRow, ...gemini })).toMatchObject({
      ...{ request: { messages: [{ content: "s" }, { content: "hi" }] }, answer: { text: "ho", finishReason: "stop" } },
    });
  });

  it("leaves out failures and requests without a body, and times of its cache", () => {
    for (const more of [
      { request_path: "/v1/embeddings", request_body: { input: "hi" } },
      { response_status: 429 },
      { response_status: "-2" },
      { request_body: {} },
      { request_body: null },
    ])
      expect(() => read("helicone", { ...heliconeRow, ...more })).toThrow(RowProblem);
    expect(log("helicone", { ...heliconeRow, cache_reference_id: "r0" }).answer?.serviceMs).toBeNull();
  });
});

const samples = {
  litellm: [payload, spendLog],
  langfuse: [observation],
  tensorzero: [chatInference, modelInference, { id: "1", target_id: "2", metric_name: "m", value: 1 }],
  helicone: [heliconeRow],
};
const odd = fc.oneof(
  fc.constant({ toString: false, role: {}, type: [], content: { text: [] } }),
  fc.constantFrom(
    null,
    undefined,
    "",
    " ",
    -1,
    0.5,
    1e300,
    Number.NaN,
    Infinity,
    [],
    {},
    [[]],
    true,
    "null",
    "{",
    "\ud83d",
    "9".repeat(40),
  ),
  fc.jsonValue(),
);

describe.each(Object.entries(samples))("%s", (preset, rows) => {
  it.each(rows.map((row) => [row]))("takes each field by itself, whatever stands in it (%#)", (row) => {
    const names = fc.constantFrom(...Object.keys(row));
    fc.assert(
      fc.property(names, odd, (name, value) => {
        let made;
        try {
          made = read(preset, { ...row, [name]: value });
        } catch (error) {
          // Left out, with a reason, and for nothing else.
          expect(error).toBeInstanceOf(RowProblem);
          return;
        }
        expect(JSON.stringify(made)).not.toMatch(/NaN|\\ud83d/);
        const plain = read(preset, row);
        if (!("request" in made) || !("request" in plain) || made.answer === null || plain.answer === null) return;
        const used = /token|usage/i.test(name) || ["metadata", "response", "response_body"].includes(name);
        if (!used) expect(made.answer.promptTokens).toBe(plain.answer.promptTokens);
        if (!/cost|spend/i.test(name)) expect(made.answer.cost).toBe(plain.answer.cost);
      }),
      { numRuns: 500 },
    );
  });
});
