// Bodies of Anthropic's clients where an arm speaks the same format, and its answers back to them:
// nothing is lost on the way, streamed or not.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nativeAnswerMember, type NativePiece } from "../../../algorithms/text/message-blocks.ts";
import { promptTokens } from "../../../algorithms/text/prompt-tokens.ts";
import { readPassthrough } from "../../../algorithms/routing/passthrough.ts";
import type { BlockPiece } from "../../../schemas/types.ts";
import { aResponse } from "../../responses.testing.ts";
import { createStreamParts } from "../../stream-parts.ts";
import type { Served } from "../request.ts";
import { finishedMessage } from "./answer.ts";
import { createMessageEvents } from "./events.ts";
import { messagesRequest } from "./request.ts";

const both: Served = new Set(["tools", "vision", "parameters", "common", "anthropic"]);
const base = { model: "auto", max_tokens: 50, messages: [{ role: "user", content: "hello" }] };
const requestOf = (more: object, betas?: string) => messagesRequest({ ...base, ...more }, both, { betas }).request;
const passed = (more: object) => {
  const json = requestOf(more).passthrough;
  const read = readPassthrough(json ?? "{}");
  return { json, members: "members" in read ? read.members : {}, requires: "members" in read ? read.requires : [] };
};
const thought = { type: "thinking", thinking: "hm\u2028", signature: "c2ln+/=" };

describe("a request", () => {
  it("of text is an ordinary one", () => {
    for (const more of [{}, { thinking: { type: "disabled" } }, { service_tier: "auto" }])
      expect(requestOf(more)).toMatchObject({ passthrough: null, requires: [], privacy: { cache: true } });
  });

  it("goes on as it was written, and translated for arms of the other format", () => {
    const tools = [{ name: "f", input_schema: { type: "object" }, cache_control: { type: "ephemeral" } }];
    const messages = [...base.messages, { role: "assistant", content: [thought, { type: "text", text: "a" }] }];
    const more = { tools, messages, system: "S", thinking: { type: "enabled", budget_tokens: 1_024 }, top_k: 3 };
    const request = requestOf(more, "b-1, b-2");
    expect(request).toMatchObject({ requires: ["tools", "common"], privacy: { cache: false, share: false } });
    const { members } = passed(more);
    expect(members["tools"]).toMatchObject([{ type: "function", function: { name: "f" } }]);
    expect(members["anthropic"]).toEqual({ tools, messages, system: "S", thinking: more.thinking, top_k: 3 });
    expect(JSON.parse(request.passthrough ?? "{}")).toMatchObject({ anthropic: { betas: ["b-1", "b-2"] } });
  });

  it("of text keeps the betas that change what it may be, and a tier that costs no more", () => {
    for (const request of [requestOf({}, "context-1m-2025-08-07"), requestOf({ service_tier: "standard_only" })])
      expect(request).toMatchObject({ requires: [], privacy: { cache: false, share: false } });
    const { messages } = base;
    expect(requestOf({}, "a-1, context-1m-2025-08-07,").passthrough).toBe(
      JSON.stringify({ anthropic: { messages, betas: ["a-1", "context-1m-2025-08-07"] } }),
    );
    expect(JSON.parse(requestOf({ service_tier: "standard_only" }).passthrough ?? "{}")).toEqual({
      anthropic: { messages, service_tier: "standard_only" },
    });
    for (const none of ["", " , ", "claude-code-20250219,interleaved-thinking-2025-05-14"])
      expect(requestOf({}, none)).toMatchObject({ passthrough: null });
  });

  it("that only wishes for thoughts may be answered by any arm", () => {
    const request = requestOf({ thinking: { type: "adaptive" } });
    expect(request).toMatchObject({ requires: [], messages: [{ role: "user", content: "hello" }] });
    expect(passed({ thinking: { type: "adaptive" } }).requires).toEqual([]);
  });

  it("that asks why a cache missed may be answered by any arm, and goes on as written to these", () => {
    const more = { diagnostics: { previous_message_id: "msg_1" } };
    expect(requestOf(more)).toMatchObject({ requires: [], messages: [{ role: "user", content: "hello" }] });
    expect(passed(more).members["anthropic"]).toEqual({ messages: base.messages, ...more });
    expect(messagesRequest({ ...base, ...more }, new Set()).request.passthrough).toBeNull();
  });

  it("that leaves its conversation at a provider is refused: it may be another tenant's", () => {
    const thread = { type: "continue", previous_message_id: "msg_1" };
    const details = { error_code: "thread_unsupported_request" };
    for (const served of [new Set<"anthropic">(["anthropic"]), new Set<"tools">(["tools"])])
      expect(() => messagesRequest({ ...base, thread }, served)).toThrow(
        expect.objectContaining({ param: "thread", details }),
      );
  });

  it.each([
    [{ container: "c" }],
    [{ inference_geo: "us" }],
    [{ tools: [{ type: "web_search_20250305", name: "web_search" }] }],
    [{ messages: [{ role: "user", content: [{ type: "document", source: { type: "base64", data: "QUI=" } }] }] }],
    [{ messages: [{ role: "user", content: [{ type: "of_tomorrow" }, { type: "text", text: "hi" }] }] }],
  ])("of what the other format lacks goes to arms of this one alone: %j", (more) => {
    const { passthrough, requires, messages } = requestOf(more);
    expect(requires).toEqual(["anthropic"]);
    const { max_tokens: _max, model: _model, ...rest } = { ...base, ...more };
    expect(JSON.parse(passthrough ?? "{}")).toEqual({ anthropic: rest });
    expect(messages.at(-1)?.role).toBe("user");
    expect(() => messagesRequest({ ...base, ...more }, new Set(["tools"]))).toThrow(/served|Anthropic's servers/);
  });

  it("that is wrong is refused all the same", () => {
    for (const wrong of [
      { messages: [null] },
      { max_tokens: 0 },
      { tools: [{ type: "custom" }] },
      { container: "c", top_p: 7 },
      { container: "c", kv_transfer_params: { do_remote_prefill: true } },
      { container: "c", fallbacks: [{ model: "another" }] },
      { container: "c", priority: 1 },
      { container: "c", tools: [{ type: "advisor_20260301", name: "advisor", model: "another" }] },
      { messages: [{ role: "user", content: [{ type: "image", source: { type: "url", url: "file:///x" } }] }] },
    ])
      expect(() => requestOf(wrong)).toThrow();
  });

  it("is counted once, without the data of its images", () => {
    const source = { type: "base64", media_type: "image/png", data: "A".repeat(400_000) };
    const turn = (content: unknown) => ({ messages: [{ role: "user", content }], thinking: { type: "adaptive" } });
    const tokens = (content: unknown) => promptTokens([], requestOf(turn(content)).passthrough);
    expect(tokens([{ type: "image", source }])).toBeLessThan(4_000);
    expect(tokens([{ type: "tool_result", tool_use_id: "t", content: [{ type: "image", source }] }])).toBeLessThan(
      4_000,
    );
    expect(tokens("w ".repeat(10_000))).toBeLessThan(12_000);
    const hidden = { type: "image", text: "w ".repeat(10_000) };
    expect(tokens([{ type: "tool_use", id: "t", name: "f", input: hidden }])).toBeGreaterThan(6_000);
    const tools = [{ name: "f", input_schema: { type: "object", properties: { a: hidden } } }];
    expect(promptTokens([], requestOf({ tools, thinking: { type: "adaptive" } }).passthrough)).toBeGreaterThan(6_000);
  });
});

const pieces: NativePiece[] = [
  { head: { type: "thinking", thinking: "" }, text: thought.thinking },
  { head: { delta: { type: "signature_delta", signature: thought.signature } }, text: "" },
  { head: { type: "redacted_thinking", data: "x" }, text: "" },
  { head: { type: "text", text: "" }, text: "It is" },
  { head: { delta: { type: "citations_delta", citation: { cited_text: "a" } } }, text: "" },
  { head: { type: "tool_use", id: "t", name: "f", input: {} }, text: '{"n":12345678901234567890}' },
];
const end = { delta: { stop_reason: "pause_turn", stop_sequence: null }, context_management: { applied_edits: [] } };
const response = aResponse({
  text: "It is",
  passthrough: JSON.stringify({
    message: { [nativeAnswerMember]: { pieces, end, usage: { input_tokens: 3, service_tier: "standard" } } },
  }),
});
const of = { requestId: "r", model: "claude", created: 1 };
const content =
  `[{"type":"thinking","thinking":${JSON.stringify(thought.thinking)},"signature":"c2ln+/="},{"type":"redacted_thinking","data":"x"},` +
  `{"type":"text","text":"It is","citations":[{"cited_text":"a"}]},{"type":"tool_use","id":"t","name":"f","input":{"n":12345678901234567890}}]`;

describe("an answer", () => {
  it("has its blocks, its reason and its usage as they came", () => {
    const text = finishedMessage(response, of);
    expect(text).toContain(`"content":${content}`);
    expect(JSON.parse(text)).toMatchObject({
      ...{ model: "claude", stop_reason: "pause_turn", context_management: { applied_edits: [] } },
      usage: { input_tokens: 3, service_tier: "standard" },
    });
  });

  /** As clients put a stream together. */
  const assembled = (stream: string) => {
    const blocks: Record<string, unknown>[] = [];
    let input = "";
    for (const one of stream.split("\n\n").filter((line) => line !== "")) {
      const { type, index, content_block, delta } = JSON.parse(one.split("\ndata: ")[1] ?? "{}") as {
        type: string;
        index: number;
        content_block: object;
        delta: Record<string, string>;
      };
      if (type === "content_block_start") {
        expect(index).toBe(blocks.length);
        blocks.push({ ...content_block });
      }
      if (type !== "content_block_delta") continue;
      expect(index).toBe(blocks.length - 1);
      const block = blocks[index]!;
      if (delta["type"] === "text_delta") block["text"] = `${String(block["text"])}${delta["text"]}`;
      if (delta["type"] === "thinking_delta") block["thinking"] = `${String(block["thinking"])}${delta["thinking"]}`;
      if (delta["type"] === "signature_delta") block["signature"] = delta["signature"];
      if (delta["type"] === "citations_delta") block["citations"] = [delta["citation"]];
      if (delta["type"] === "input_json_delta")
        block["input"] = JSON.parse((input += String(delta["partial_json"]))) as unknown;
    }
    return blocks;
  };

  it("streams as the same blocks, whatever of the pieces is lost, repeated or late", () => {
    const sent = (length: number): BlockPiece[] =>
      pieces.flatMap(({ head, text }, index) => {
        const parts = index === 5 ? [text] : (text.match(new RegExp(`.{1,${length}}`, "gsu")) ?? []);
        const [first = "", ...rest] = parts;
        return [
          { index, head: JSON.stringify(head), text: first },
          ...rest.map((part) => ({ index, head: null, text: part })),
        ];
      });
    const attempt = fc.record({ length: fc.integer({ min: 1, max: 6 }), lost: fc.integer({ min: -3, max: 12 }) });
    fc.assert(
      fc.property(fc.array(attempt, { maxLength: 3 }), (attempts) => {
        const parts = createStreamParts(true);
        const events = createMessageEvents(of);
        let stream = events.begin();
        for (const [turn, { length, lost }] of attempts.entries())
          for (const [index, piece] of sent(length).entries()) {
            if (index !== lost) parts.take({ attempt: turn + 1, index, text: "", calls: [], blocks: [piece] });
            stream += events.blocks?.(parts.next().blocks) ?? "";
          }
        const rest = parts.rest(response);
        expect(rest).not.toBe(null);
        stream += (events.blocks?.(rest!.blocks) ?? "") + events.end(response, rest!.calls);
        expect(assembled(stream)).toEqual(JSON.parse(content));
        expect(stream).toContain('"stop_reason":"pause_turn"');
        expect(stream.endsWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')).toBe(true);
      }),
    );
  });

  it("that is another than what was sent ends the stream in an error", () => {
    const take = (head: object, text: string) => {
      const parts = createStreamParts(true);
      parts.take({
        attempt: 1,
        index: 0,
        text: "",
        calls: [],
        blocks: [{ index: 0, head: JSON.stringify(head), text }],
      });
      parts.next();
      return parts.rest(response);
    };
    expect(take({ type: "thinking", thinking: "" }, "other")).toBe(null);
    expect(take({ type: "text", text: "" }, "hm")).toBe(null);
    expect(take({ type: "thinking", thinking: "" }, "hm")).not.toBe(null);
    const text = createStreamParts(true);
    text.take({ attempt: 1, index: 0, text: "It", calls: [], blocks: [] });
    text.next();
    expect(text.rest(response)).toBe(null);
    expect(createStreamParts(true).rest(aResponse({ text: "plain" }))?.text).toBe("plain");
  });
});
