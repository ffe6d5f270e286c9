// Anthropic's stream events, parsed as its clients do, give the final answer.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallPiece } from "../../../schemas/types.ts";
import { aResponse } from "../../responses.testing.ts";
import { ApiError } from "../../errors.ts";
import { finishedMessage } from "./answer.ts";
import { createMessageEvents } from "./events.ts";

const of = { requestId: "r", model: "auto", created: 1 };
const call = (id: string, name: string, text: string) => ({
  id,
  type: "function",
  function: { name, arguments: text },
});
const withCalls = (text: string, calls: readonly object[]) =>
  aResponse({ text, finishReason: "tool_calls", passthrough: JSON.stringify({ message: { tool_calls: calls } }) });

interface Event extends Record<string, unknown> {
  type: string;
  index: number;
}
const eventsOf = (stream: string): Event[] =>
  stream
    .split("\n\n")
    .filter((one) => one !== "")
    .map((one) => {
      const [name, data] = one.split("\n");
      const event = JSON.parse(data!.slice("data: ".length)) as Event;
      expect(name).toBe(`event: ${event.type}`);
      return event;
    });

/** Parses blocks by the format's rules: one open at a time, numbered in order. */
function blocksOf(events: readonly Event[]): Record<string, unknown>[] {
  const blocks: { type: string; text: string; input: string; id?: unknown; name?: unknown }[] = [];
  let open = false;
  for (const event of events) {
    if (event.type === "content_block_start") {
      expect(open).toBe(false);
      expect(event.index).toBe(blocks.length);
      const { type, id, name } = event["content_block"] as { type: string; id?: string; name?: string };
      blocks.push({ type, text: "", input: "", ...(id !== undefined && { id, name }) });
      open = true;
    } else if (event.type === "content_block_delta") {
      expect(open && event.index === blocks.length - 1).toBe(true);
      const { text = "", partial_json = "" } = event["delta"] as { text?: string; partial_json?: string };
      blocks.at(-1)!.text += text;
      blocks.at(-1)!.input += partial_json;
    } else if (event.type === "content_block_stop") {
      expect(open && event.index === blocks.length - 1).toBe(true);
      open = false;
    }
  }
  expect(open).toBe(false);
  return blocks.map(({ type, text, input, id, name }) =>
    type === "text" ? { type, text } : { type, id, name, input: JSON.parse(input) as object },
  );
}

describe("a stream", () => {
  it("of text has the events of Anthropic's, in their order", () => {
    const chunks = createMessageEvents(of);
    const stream = [chunks.begin(), chunks.text("Hel"), chunks.text("lo"), chunks.heartbeat];
    const events = eventsOf(stream.join("") + chunks.end(aResponse({ text: "Hello", finishReason: "length" }), []));
    expect(events.map(({ type }) => type)).toEqual([
      ...["message_start", "content_block_start", "content_block_delta", "content_block_delta", "ping"],
      ...["content_block_stop", "message_delta", "message_stop"],
    ]);
    expect(blocksOf(events)).toEqual([{ type: "text", text: "Hello" }]);
    expect(events.at(-2)).toMatchObject({
      delta: { stop_reason: "max_tokens" },
      usage: { output_tokens: expect.any(Number) as number },
    });
  });

  it("has the blocks of the answer, however its pieces are mixed", () => {
    const answers = fc.record({
      text: fc.string({ maxLength: 8 }),
      inputs: fc.array(
        fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify({ value, "}": "}" })),
        { maxLength: 4 },
      ),
      order: fc.infiniteStream(fc.nat({ max: 3 })),
      sizes: fc.infiniteStream(fc.integer({ min: 1, max: 7 })),
      cut: fc.nat({ max: 40 }),
    });
    fc.assert(
      fc.property(answers, ({ text, inputs, order, sizes, cut }) => {
        const chunks = createMessageEvents(of);
        const calls = inputs.map((input, i) => call(`c${i}`, `n${i}`, input));
        let out = chunks.begin();
        // Texts and pieces of calls, interleaved; heads in order, as in real streams.
        let [textAt, steps] = [0, 0];
        const at = inputs.map(() => -1);
        while (steps++ < cut) {
          const which = order.next().value as number;
          const size = sizes.next().value as number;
          if (which >= inputs.length || (which > 0 && at[which - 1]! < 0)) {
            if (textAt < text.length) out += chunks.text(text.slice(textAt, textAt + size));
            textAt = Math.min(text.length, textAt + size);
            continue;
          }
          const [from, input] = [Math.max(0, at[which]!), inputs[which]!];
          const head =
            at[which]! < 0
              ? { id: `c${which}`, type: "function", name: `n${which}` }
              : { id: null, type: null, name: null };
          at[which] = Math.min(input.length, from + size);
          out += chunks.calls([{ index: which, ...head, arguments: input.slice(from, at[which]) } satisfies CallPiece]);
        }
        const rest = calls.flatMap(({ id, type, function: { name, arguments: input } }, index) => {
          const left = input.slice(Math.max(0, at[index]!));
          if (at[index]! < 0) return [{ index, id, type, function: { name, arguments: input } }];
          return left === "" ? [] : [{ index, function: { arguments: left } }];
        });
        if (textAt < text.length) out += chunks.text(text.slice(textAt));
        const response = withCalls(text, calls);
        const events = eventsOf(out + chunks.end(response, rest));
        const blocks = blocksOf(events);
        const { content } = JSON.parse(finishedMessage(response, of)) as { content: Record<string, unknown>[] };
        const isText = ({ type }: Record<string, unknown>) => type === "text";
        expect(blocks.filter((one) => !isText(one))).toEqual(content.filter((one) => !isText(one)));
        expect(
          blocks
            .filter(isText)
            .map((one) => one["text"])
            .join(""),
        ).toBe(text);
        expect(events.at(-1)?.type).toBe("message_stop");
      }),
    );
  });

  it("sends a call as it comes", () => {
    const chunks = createMessageEvents(of);
    const head = { index: 0, id: "c0", type: "function", name: "a", arguments: '{"x"' };
    expect(eventsOf(chunks.calls([head])).map(({ type }) => type)).toEqual([
      "content_block_start",
      "content_block_delta",
    ]);
    const more = chunks.calls([{ index: 0, id: null, type: null, name: null, arguments: ":1}" }]);
    expect(eventsOf(more)).toMatchObject([{ delta: { type: "input_json_delta", partial_json: ":1}" } }]);
  });

  it("keeps the order of texts that come in the middle of a call and behind it", () => {
    const chunks = createMessageEvents(of);
    const head = { index: 0, id: "c0", type: "function", name: "a", arguments: '{"x"' };
    const more = { index: 0, id: null, type: null, name: null, arguments: ":1}" };
    const out = [chunks.calls([head]), chunks.text("one "), chunks.calls([more]), chunks.text("two")].join("");
    const texts = blocksOf(eventsOf(out + chunks.end(withCalls("one two", [call("c0", "a", '{"x":1}')]), [])));
    expect(texts.map((one) => one["text"] ?? one["type"])).toEqual(["tool_use", "one two"]);
  });

  it("with a call whose arguments are no object ends in an error", () => {
    const chunks = createMessageEvents(of);
    const rest = [{ index: 0, ...call("c", "a", "[1]") }];
    const [, last] = eventsOf(chunks.begin() + chunks.end(withCalls("", [call("c", "a", "[1]")]), rest));
    expect(last).toMatchObject({ type: "error", error: { type: "api_error", code: "invalid_tool_arguments" } });
    expect(() => finishedMessage(withCalls("", [call("c", "a", "no")]), of)).toThrow(ApiError);
  });
});

describe("a call that the model did not finish", () => {
  const calls = [call("c0", "a", '{"x":1}'), call("c1", "b", '{"y')];
  const response = aResponse({
    ...{ text: "so", finishReason: "length" },
    passthrough: JSON.stringify({ message: { tool_calls: calls } }),
  });
  it("is left out of an answer that was cut", () => {
    expect(JSON.parse(finishedMessage(response, of))).toMatchObject({
      content: [{ type: "text" }, { type: "tool_use", id: "c0" }],
      stop_reason: "max_tokens",
    });
  });
  it("ends a stream that was cut as an answer", () => {
    const chunks = createMessageEvents(of);
    const rest = calls.map((one, index) => ({ index, ...one }));
    const events = eventsOf(chunks.begin() + chunks.text("so") + chunks.end(response, rest));
    expect(events.slice(-2).map(({ type }) => type)).toEqual(["message_delta", "message_stop"]);
    expect(events.at(-2)).toMatchObject({ delta: { stop_reason: "max_tokens" } });
  });
});

describe("an answer", () => {
  it("with calls ends with them, though the endpoint says stop", () => {
    const response = { ...withCalls("", [call("c", "a", "{}")]), finishReason: "stop" };
    expect(JSON.parse(finishedMessage(response, of))).toMatchObject({ stop_reason: "tool_use" });
  });
  it("blanks behind a call do not go into the text after it", () => {
    const chunks = createMessageEvents(of);
    const head = { index: 0, id: "c", type: "function", name: "a", arguments: "{}" };
    const more = { index: 0, id: null, type: null, name: null, arguments: "\n" };
    const stream = chunks.begin() + chunks.calls([head]) + chunks.text("x") + chunks.calls([more]);
    expect(blocksOf(eventsOf(stream + chunks.end(withCalls("x", [call("c", "a", "{}\n")]), [])))).toEqual([
      { type: "tool_use", id: "c", name: "a", input: {} },
      { type: "text", text: "x" },
    ]);
  });
  it("keeps the input of a call as the model wrote it", () => {
    const text = finishedMessage(
      withCalls("so", [call("c", "a", '{"n": 12345678901234567890.10}'), call("d", "b", "")]),
      of,
    );
    expect(text).toContain('"input":{"n": 12345678901234567890.10}');
    const { content, stop_reason } = JSON.parse(text) as { content: object[]; stop_reason: string };
    expect(content).toMatchObject([
      { type: "text", text: "so" },
      { type: "tool_use", name: "a" },
      { name: "b", input: {} },
    ]);
    expect(stop_reason).toBe("tool_use");
  });
  it("has cached tokens apart from the others", () => {
    const response = aResponse({ text: "x" });
    const usage = { ...response.usage, prompt: 10, prefilled: 4, cached: 6, cacheWrite: 1, completion: 2 };
    const { usage: counted } = JSON.parse(finishedMessage({ ...response, usage }, of)) as { usage: object };
    expect(counted).toMatchObject({
      input_tokens: 3,
      cache_read_input_tokens: 6,
      cache_creation_input_tokens: 1,
      output_tokens: 2,
    });
  });
  it("that a stop sequence ended says so, streamed or not, but not beside calls of tools", () => {
    const ended = { stop_reason: "stop_sequence", stop_sequence: "END" };
    const response = aResponse({ text: "x", stopSequence: "END" });
    expect(JSON.parse(finishedMessage(response, of))).toMatchObject(ended);
    const events = eventsOf(createMessageEvents(of).end(response, []));
    expect(events.at(-2)).toMatchObject({ type: "message_delta", delta: ended });
    for (const other of [
      { ...withCalls("", [call("a", "f", "{}")]), stopSequence: "END" },
      aResponse({ text: "x", finishReason: "length", stopSequence: "END" }),
      aResponse({ text: "x" }),
    ])
      expect(JSON.parse(finishedMessage(other, of))).toMatchObject({ stop_sequence: null });
  });
  it.each([
    ["stop", "end_turn"],
    ["content_filter", "refusal"],
    ["something", "end_turn"],
  ])("that ended by %s", (finishReason, expected) => {
    const response = aResponse({ text: "x", finishReason });
    expect(JSON.parse(finishedMessage(response, of))).toMatchObject({ stop_reason: expected });
  });
});
