import { describe, expect, it } from "vitest";
import { createAnswer } from "./answer.ts";
import { BrokenCall } from "./errors.ts";

type Json = Record<string, unknown>;

/** The text of an answer whose first choices these are. */
function textOf(choices: readonly Json[], isWhole = false): string {
  const answer = createAnswer({ isWhole, extra: true, headers: new Headers() });
  for (const choice of choices) answer.take({ choices: [{ index: 0, ...choice }] });
  return answer.complete(true).text;
}
const stop = { finish_reason: "stop" };
const hello = { role: "assistant", content: "Hello" };
const pieces = [{ delta: { content: "Hel" } }, { delta: { content: "lo" } }];

it.each<[string, Json[]]>([
  ["pieces and the message they make", [...pieces, { message: hello, ...stop }]],
  ["pieces and their message beside an empty piece", [...pieces, { delta: {}, message: hello, ...stop }]],
  [
    "each piece beside the message so far",
    [
      { delta: { content: "Hel" }, message: { content: "Hel" } },
      { delta: { content: "lo" }, message: hello, ...stop },
    ],
  ],
  ["a message beside an empty piece", [{ delta: { content: "" }, message: hello, ...stop }]],
  ["messages alone", [{ message: { content: "Hel" } }, { message: { content: "lo" }, ...stop }]],
  ["texts alone", [{ text: "Hel" }, { delta: {}, text: "lo", ...stop }]],
  ["pieces and their text", [...pieces, { delta: {}, text: "Hello", ...stop }]],
])("a stream of %s has its text once", (_what, choices) => {
  expect(textOf(choices)).toBe("Hello");
});

it.each<[string, Json[], string | null]>([
  ["vLLM and TensorRT-LLM", [...pieces, { delta: {}, ...stop, stop_reason: "END" }], "END"],
  ["SGLang, before the last piece", [{ ...pieces[0], ...stop, matched_stop: "END" }, pieces[1]!], "END"],
  ["those that say a token's number", [...pieces, { delta: {}, ...stop, stop_reason: 128_009, matched_stop: 2 }], null],
  ["others", [...pieces, { delta: {}, ...stop }], null],
])("what stopped it is named by %s", (_engine, choices, expected) => {
  const answer = createAnswer({ isWhole: false, extra: false, headers: new Headers() });
  for (const choice of choices) answer.take({ choices: [{ index: 0, ...choice }] });
  expect(answer.complete(true)).toMatchObject({ text: "Hello", finishReason: "stop", stop: expected });
});

it("calls that only the message behind the pieces has are kept", () => {
  const called = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };
  const answer = createAnswer({ isWhole: false, extra: true, headers: new Headers() });
  for (const choice of [...pieces, { message: { ...hello, tool_calls: [called] }, finish_reason: "tool_calls" }])
    answer.take({ choices: [{ index: 0, ...choice }] });
  expect(answer.complete(true)).toMatchObject({
    text: "Hello",
    extra: JSON.stringify({ message: { tool_calls: [called] } }),
  });
});

it("calls in choices of their own, as GitHub's Claude has them, are the answer's", () => {
  const call = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } });
  const calling = (...tool_calls: object[]) => ({
    message: { role: "assistant", tool_calls },
    finish_reason: "tool_calls",
  });
  const read = (choices: object[]) => {
    const answer = createAnswer({ isWhole: true, extra: true, headers: new Headers() });
    answer.take({ choices });
    return answer.complete(true);
  };
  const text = { message: hello, finish_reason: "tool_calls" };
  expect(read([text, calling(call("a")), calling(call("b"))])).toMatchObject({
    ...{ text: "Hello", finishReason: "tool_calls" },
    extra: JSON.stringify({ message: { tool_calls: [call("a"), call("b")] } }),
  });
  // Other answers to the same request are no part of this one.
  for (const others of [
    [
      { index: 0, ...text },
      { index: 1, ...calling(call("b")) },
    ],
    [{ message: hello, ...stop }, calling(call("b"))],
  ])
    expect(read(others)).toMatchObject({ text: "Hello", extra: null });
});

it("a whole body has its text where there is any", () => {
  expect(textOf([{ message: {}, text: "Hello", ...stop }], true)).toBe("Hello");
  expect(textOf([{ message: { content: null }, delta: hello, ...stop }], true)).toBe("Hello");
  expect(textOf([{ message: hello, text: "Hello", ...stop }], true)).toBe("Hello");
});

it.each([true, false])("an answer that Gemini's filter stopped may have no message, whole: %s", (isWhole) => {
  const answer = createAnswer({ isWhole, extra: true, headers: new Headers() });
  answer.take({
    choices: [{ index: 0, finish_reason: "content_filter: PROHIBITED_CONTENT" }],
    usage: { prompt_tokens: 9 },
  });
  expect(answer.complete(true)).toMatchObject({ text: "", finishReason: "content_filter" });
});

it("only a text is a thought, and the text beside it is none", () => {
  const part = { type: "text", text: "Hello" };
  for (const thinking of [null, "", undefined, 5])
    expect(textOf([{ message: { content: [{ ...part, thinking }] }, ...stop }], true)).toBe("Hello");
  const answer = createAnswer({ isWhole: true, extra: true, headers: new Headers() });
  answer.take({ choices: [{ message: { content: [{ ...part, thinking: "hm" }] }, ...stop }] });
  expect(answer.complete(true)).toMatchObject({
    text: "Hello",
    extra: JSON.stringify({ message: { reasoning_content: "hm" } }),
  });
});

describe("a refusal", () => {
  const no = "I can't help with that.";
  const refused = JSON.stringify({ message: { refusal: no } });
  const answerOf = (choices: readonly Json[], isWhole: boolean, extra = true) => {
    const pieces: string[] = [];
    const onPiece = (text: string) => void pieces.push(text);
    const answer = createAnswer({ isWhole, extra, headers: new Headers(), onPiece });
    for (const choice of choices) answer.take({ choices: [{ index: 0, ...choice }] });
    return { ...answer.complete(true), pieces: pieces.join("") };
  };
  const streamed = [
    ...[no.slice(0, 7), no.slice(7)].map((refusal) => ({ delta: { refusal } })),
    { delta: { content: null }, ...stop },
  ];

  it("is the text, and stays a refusal for who reads messages", () => {
    for (const message of [
      { content: null, refusal: no },
      { content: [{ type: "refusal", refusal: no }] },
      { content: "", refusal: no },
    ])
      expect(answerOf([{ message, ...stop }], true)).toMatchObject({ text: no, extra: refused });
    expect(answerOf([{ message: { content: no, refusal: null }, ...stop }], true)).toMatchObject({ extra: null });
    expect(answerOf([{ message: { content: no, refusal: { odd: 1 } }, ...stop }], true)).toMatchObject({ extra: null });
    expect(answerOf([{ message: { content: "a", refusal: no }, ...stop }], true)).toMatchObject({
      ...{ text: "a", extra: refused },
    });
  });

  it("in pieces is sent as none of the text, but where text is all that is read", () => {
    expect(answerOf(streamed, false)).toMatchObject({ text: no, extra: refused, pieces: "" });
    expect(answerOf(streamed, false, false)).toMatchObject({ text: no, extra: null, pieces: no });
    const mixed = [{ delta: { content: "So. " } }, ...streamed.slice(0, 2), { delta: { content: " Bye" }, ...stop }];
    expect(answerOf(mixed, false)).toMatchObject({ text: `So. ${no} Bye`, extra: refused, pieces: "So. " });
  });
});

describe("a call of a function as it was before tools", () => {
  function called(calls: readonly unknown[], isWhole: boolean, finish = "function_call") {
    const answer = createAnswer({ isWhole, extra: true, headers: new Headers() });
    for (const function_call of calls)
      answer.take({
        choices: [{ [isWhole ? "message" : "delta"]: { content: null, function_call }, finish_reason: finish }],
      });
    const { extra, finishReason, usage } = answer.complete(true);
    return { extra, finishReason, tokens: usage(() => 1).completion };
  }
  const of = (call: object): string => JSON.stringify({ message: { function_call: call } });

  it("is put together, its arguments as text, and counted", () => {
    const pieces = [{ name: "f", arguments: "" }, { arguments: '{"x"' }, { arguments: ":1}" }];
    const expected = { extra: of({ name: "f", arguments: '{"x":1}' }), finishReason: "function_call", tokens: 3 };
    expect(called(pieces, false)).toEqual(expected);
    expect(called([{ name: "f", arguments: { x: 1 } }], true)).toEqual(expected);
    expect(called([{ name: "f", arguments: { x: "x".repeat(4_000) } }], true).tokens).toBeGreaterThan(1_000);
  });

  it.each([{ arguments: "{}" }, { name: "f", arguments: '{"x' }, { name: "f", arguments: "5" }])(
    "is refused as %j",
    (call) => {
      for (const isWhole of [true, false]) expect(() => called([call], isWhole)).toThrow(BrokenCall);
    },
  );

  it("is passed on as it is where it is cut by its length", () => {
    expect(called([{ name: "f", arguments: '{"x' }], true, "length").extra).toBe(of({ name: "f", arguments: '{"x' }));
  });
});
