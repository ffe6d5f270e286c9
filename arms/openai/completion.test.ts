import { expect, it } from "vitest";
import { createAnswer } from "./answer.ts";

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

it("a whole body has its text where there is any", () => {
  expect(textOf([{ message: {}, text: "Hello", ...stop }], true)).toBe("Hello");
  expect(textOf([{ message: { content: null }, delta: hello, ...stop }], true)).toBe("Hello");
  expect(textOf([{ message: hello, text: "Hello", ...stop }], true)).toBe("Hello");
});
