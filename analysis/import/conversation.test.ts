import { expect, it } from "vitest";
import { answerOf, conversationOf } from "./conversation.ts";

const call = { id: "c1", type: "function", function: { name: "ls", arguments: '{"n":9007199254740993}' } };
const plain = [
  { role: "system", content: "s" },
  { role: "user", content: "q" },
];
const withCalls = [
  { role: "user", content: "q" },
  { role: "assistant", content: "", tool_calls: [call] },
  { role: "tool", content: "out", tool_call_id: "c1" },
];

it.each([
  [
    "OpenAI",
    {
      messages: [
        { role: "developer", content: "s" },
        { role: "user", content: [{ type: "text", text: "q" }, { type: "image_url" }] },
      ],
    },
  ],
  ["Responses", { instructions: "s", input: "q" }],
  [
    "Responses, items",
    { instructions: "s", input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "q" }] }] },
  ],
  ["Anthropic", { system: [{ type: "text", text: "s" }], messages: [{ role: "user", content: "q" }] }],
  ["Gemini", { systemInstruction: { parts: [{ text: "s" }] }, contents: [{ role: "user", parts: [{ text: "q" }] }] }],
  [
    "LangChain",
    [
      [
        { type: "system", content: "s" },
        { type: "human", content: "q" },
      ],
    ],
  ],
  [
    "LangChain, serialised",
    [
      { lc: 1, type: "constructor", kwargs: { type: "system", content: "s" } },
      { lc: 1, kwargs: { type: "human", content: "q" } },
    ],
  ],
  ["TensorZero", { system: "s", messages: [{ role: "user", content: [{ type: "raw_text", value: "q" }] }] }],
  ["text", '{"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"}]}'],
])("reads a conversation of %s", (_name, given) => {
  expect(conversationOf(given)).toEqual(plain);
});

it.each([
  ["OpenAI", [withCalls[0], { ...withCalls[1], content: null }, withCalls[2]]],
  [
    "Responses",
    {
      input: [
        { role: "user", content: "q" },
        { type: "function_call", call_id: "c1", name: "ls", arguments: call.function.arguments },
        { type: "function_call_output", call_id: "c1", output: "out" },
      ],
    },
  ],
  [
    "Anthropic",
    {
      messages: [
        { role: "user", content: "q" },
        { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "ls", input: call.function.arguments }] },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "c1", content: [{ type: "text", text: "out" }] }],
        },
      ],
    },
  ],
  [
    "TensorZero",
    {
      messages: [
        { role: "user", content: [{ type: "text", text: "q" }] },
        {
          role: "assistant",
          content: [{ type: "tool_call", id: "c1", name: "ls", arguments: call.function.arguments }],
        },
        { role: "user", content: [{ type: "tool_result", id: "c1", name: "ls", result: "out" }] },
      ],
    },
  ],
  [
    "Vercel AI",
    [
      { role: "user", content: "q" },
      {
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: "c1", toolName: "ls", args: call.function.arguments }],
      },
      { role: "tool", content: [{ type: "tool-result", toolCallId: "c1", result: "out" }] },
    ],
  ],
  [
    "LangChain",
    [
      { type: "human", content: "q" },
      { type: "ai", content: "", additional_kwargs: { tool_calls: [call] } },
      { type: "tool", content: "out", tool_call_id: "c1" },
    ],
  ],
])("keeps calls of tools and their results of %s", (_name, given) => {
  expect(conversationOf(given)).toEqual(withCalls);
});

it("is none without a user's text", () => {
  for (const given of [
    null,
    "",
    " ",
    {},
    [],
    [1],
    { messages: [] },
    [{ role: "system", content: "s" }],
    { topic: "x" },
    [{ role: "user" }],
  ])
    expect(conversationOf(given)).toBeNull();
});

it.each([
  ["a chat completion", { choices: [{ finish_reason: "stop", message: { content: "a" } }] }, "stop"],
  ["a completion", { choices: [{ text: "a", finish_reason: "length" }] }, "length"],
  [
    "Responses",
    { output: [{ type: "reasoning" }, { type: "message", content: [{ type: "output_text", text: "a" }] }] },
    null,
  ],
  [
    "Anthropic",
    {
      content: [
        { type: "thinking", thinking: "t" },
        { type: "text", text: "a" },
      ],
      stop_reason: "end_turn",
    },
    "end_turn",
  ],
  [
    "Gemini",
    { candidates: [{ content: { parts: [{ text: "t", thought: true }, { text: "a" }] }, finishReason: "STOP" }] },
    "STOP",
  ],
  ["LangChain", { generations: [[{ text: "a" }]] }, null],
  [
    "messages",
    [
      { role: "user", content: "q" },
      { role: "assistant", content: "a" },
    ],
    null,
  ],
  ["a message as text", '{"role":"assistant","content":"a"}', null],
  ["text", "a", null],
])("reads an answer of %s", (_name, given, finishReason) => {
  expect(answerOf(given)).toEqual({ text: "a", calls: [], finishReason });
});

it("takes JSON of no known shape as the answer's own text, and failures as none", () => {
  expect(answerOf('{"city": "Rome", "id": 9007199254740993}')?.text).toBe('{"city": "Rome", "id": 9007199254740993}');
  expect(answerOf({ city: "Rome" })?.text).toBe('{"city":"Rome"}');
  expect(answerOf('["a"]')?.text).toBe("a");
  for (const given of [
    null,
    undefined,
    "{}",
    {},
    [],
    { error: { message: "no" } },
    { choices: [] },
    { role: "assistant", content: null },
  ])
    expect(answerOf(given)).toBeNull();
});

it("takes members that only look like a dialect's for an answer in a format of its own", () => {
  for (const text of [
    '{"text":"hi","lang":"en"}',
    '{"content":"hi","score":1}',
    '{"choices":["a","b"]}',
    '{"candidates":[{"name":"Bob","score":1}]}',
    '{"output":[1,2]}',
  ])
    expect(answerOf(text)).toMatchObject({ text, calls: [] });
  expect(answerOf('{"content":"hi"}')).toMatchObject({ text: "hi" });
  expect(answerOf('{"choices":[]}')).toBeNull();
  expect(answerOf('{"choices":[{"message":{"content":null},"finish_reason":"content_filter"}]}')).toBeNull();
});

const sse = (events: readonly object[], done = "") =>
  events.map((event) => `event: x\ndata: ${JSON.stringify(event)}\n\n`).join("") + done;
const chunk = (delta: object, reason: string | null = null) => ({
  choices: [
    { index: 1, delta: { content: "another" } },
    { index: 0, delta, finish_reason: reason },
  ],
});
const ls = (part: string) => ({ tool_calls: [{ index: 0, function: { arguments: part } }] });
const { arguments: written } = call.function;
it.each([
  [
    "OpenAI",
    [
      chunk({ role: "assistant", content: "" }),
      chunk({ content: "a" }),
      chunk({ reasoning_content: "t" }),
      chunk({ tool_calls: [{ index: 0, id: "c1", function: { name: "ls", arguments: "" } }] }),
      ...[chunk(ls(written.slice(0, 4))), chunk(ls(written.slice(4))), chunk({}, "tool_calls")],
      { choices: [], usage: { prompt_tokens: 5 } },
    ],
  ],
  [
    "Anthropic",
    [
      { type: "message_start", message: { role: "assistant", content: [], usage: { input_tokens: 5 } } },
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "t" } },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "a" } },
      { type: "content_block_start", index: 2, content_block: { type: "tool_use", id: "c1", name: "ls", input: {} } },
      ...[written.slice(0, 4), written.slice(4)].map((part) => ({
        ...{ type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: part } },
      })),
      { type: "message_delta", delta: { stop_reason: "tool_calls" }, usage: { output_tokens: 3 } },
    ],
  ],
  [
    "Responses",
    [
      { type: "response.output_text.delta", delta: "a" },
      {
        type: "response.completed",
        response: {
          incomplete_details: { reason: "tool_calls" },
          output: [
            { type: "message", content: [{ type: "output_text", text: "a" }] },
            { type: "function_call", call_id: "c1", name: "ls", arguments: written },
          ],
        },
      },
    ],
  ],
])("puts an answer together that was logged as the stream of %s", (_name, events) => {
  const expected = { text: "a", calls: [call], finishReason: "tool_calls" };
  for (const given of [events, JSON.stringify(events), sse(events), sse(events, "data: [DONE]\n\n")])
    expect(answerOf(given)).toEqual(expected);
});

it("takes a text for a stream only where events are in it", () => {
  for (const text of ["data: a, b", "event: none", 'data: {"a":1}', "id: 7\ndata: x"])
    expect(answerOf(text)).toEqual({ text, calls: [], finishReason: null });
});

it("reads messages of OpenTelemetry's GenAI conventions", () => {
  const text = (content: string) => ({ type: "text", content });
  expect(
    conversationOf([
      { role: "user", parts: [text("q")] },
      { role: "assistant", parts: [{ type: "tool_call", id: "c1", name: "ls", arguments: written }] },
      { role: "tool", parts: [{ type: "tool_call_response", id: "c1", response: "out" }] },
    ]),
  ).toEqual(withCalls);
  const parts = [{ type: "reasoning", content: "t" }, text("a")];
  expect(answerOf([{ role: "assistant", parts, finish_reason: "stop" }])).toMatchObject({
    text: "a",
    finishReason: "stop",
  });
});
