// What a model thinks goes to the reader as it comes, before the answer: agents show it, and some
// take what comes behind the text for another message.
import { expect, it } from "vitest";
import { createMessageAnswer } from "../anthropic/answer.ts";
import { createAnswer, type AnswerOptions } from "./answer.ts";

function read(deltas: readonly object[], more: Partial<AnswerOptions> = {}) {
  const pieces: unknown[] = [];
  const answer = createAnswer({
    ...{ isWhole: false, extra: true, headers: new Headers() },
    onPiece: (text, _calls, _blocks, thoughts) => pieces.push([text, thoughts ?? null]),
    ...more,
  });
  for (const delta of deltas) answer.take({ choices: [{ index: 0, delta, finish_reason: null }] });
  answer.take({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
  return { pieces, ...answer.complete(true) };
}

it.each(["reasoning_content", "reasoning"])("streams %s before the text, and has it whole at the end", (member) => {
  const { pieces, text, extra } = read([
    { role: "assistant", content: "" },
    { [member]: "I th" },
    { [member]: "ink." },
    { content: "so" },
  ]);
  expect(pieces).toEqual([
    ["", { member, text: "I th" }],
    ["", { member, text: "ink." }],
    ["so", null],
  ]);
  expect([text, JSON.parse(extra ?? "")]).toEqual(["so", { message: { [member]: "I think." } }]);
});

it("streams thoughts that an endpoint says in two members once, and those among parts of the content", () => {
  const both = { reasoning: "a", reasoning_content: "a", reasoning_details: [{ type: "reasoning.text", text: "a" }] };
  const thought = { member: "reasoning_content", text: "a" };
  expect(read([both, { reasoning: "b" }, { content: "c" }]).pieces).toEqual([
    ["", thought],
    ["c", null],
  ]);
  const part = { content: [{ type: "thinking", thinking: [{ type: "text", text: "a" }] }] };
  expect(read([part]).pieces).toEqual([["", thought]]);
});

it("cuts no character of a thought in two", () => {
  const { pieces } = read([{ reasoning: "a\ud83d" }, { reasoning: "\ude00" }]);
  expect(pieces).toEqual([
    ["", { member: "reasoning", text: "a" }],
    ["", { member: "reasoning", text: "😀" }],
  ]);
});

it("streams none to a client that asks for text alone", () => {
  expect(read([{ reasoning: "hm" }, { content: "a" }], { extra: false }).pieces).toEqual([["a", null]]);
});

it.each([false, true])(
  "streams Anthropic's thoughts, where the client reads its blocks (%s) in these alone",
  (native) => {
    const thoughts: unknown[] = [];
    const heads: unknown[] = [];
    const answer = createMessageAnswer(
      {
        ...{ isWhole: false, extra: true, headers: new Headers() },
        onPiece(_text, _calls, blocks = [], said) {
          if (said !== undefined) thoughts.push(said);
          heads.push(...blocks.flatMap(({ head }) => head ?? []));
        },
      },
      native,
    );
    answer.take({ type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } });
    answer.take({ type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "hm" } });
    expect(thoughts).toEqual(native ? [] : [{ member: "reasoning_content", text: "hm" }]);
    expect(heads).toHaveLength(native ? 1 : 0);
  },
);
