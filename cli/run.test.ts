import { expect, it } from "vitest";
import { wordsOf } from "./run.ts";

it.each([
  [
    "what has no message of its own",
    new AggregateError([new Error("refused"), new Error("no such host")]),
    /^refused; no such host$/,
  ],
  ["a full disk", new Error("ENOSPC: no space left on device, write"), /^ENOSPC.*stack\.folder/],
  ["a full disk, in another error's words", new Error("can't open: ENOSPC"), /stack\.folder/],
  ["connections that close at once", new Error("socket hang up"), /^socket hang up; .*TLS/],
  ["an error without a message", new RangeError(), /^RangeError$/],
])("a person is told what to do about %s", (_what, error, words) => {
  expect(wordsOf(error)).toMatch(words);
});
