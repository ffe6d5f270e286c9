import { describe, expect, it } from "vitest";
import { feedbackRecord, type FeedbackInput } from "./feedback-record.ts";
import { UsageError } from "./io.ts";

const made = (input: Partial<FeedbackInput>) =>
  feedbackRecord({ requestId: "r", tenant: "default", source: "person", ...input }, "f", 5);

describe("feedback from the command line", () => {
  it.each<[Partial<FeedbackInput>, object]>([
    [{ verdict: "up" }, { kind: "thumbs", value: 1 }],
    [{ verdict: "neutral" }, { kind: "thumbs", value: 0 }],
    [
      { verdict: "down", comment: "wrong flag" },
      { kind: "thumbs", value: -1, comment: "wrong flag" },
    ],
    [
      { verdict: "4", range: "1..5" },
      { kind: "score", value: 4, range: { low: 1, high: 5 } },
    ],
    [
      { verdict: "2", range: "6..1" },
      { kind: "score", value: 2, range: { low: 6, high: 1 } },
    ],
    [
      { verdict: "-0.5", range: "-1..1.5" },
      { kind: "score", value: -0.5, range: { low: -1, high: 1.5 } },
    ],
    [
      { verdict: "0.7", reward: true, source: "system" },
      { kind: "reward", value: 0.7, source: "system" },
    ],
    [
      { verdict: "better", against: "large" },
      { kind: "preference", value: 1, against: "large" },
    ],
    [
      { verdict: "same", against: "large" },
      { kind: "preference", value: 0 },
    ],
    [
      { verdict: "-2", against: "large", source: "judge" },
      { kind: "comparison", value: -2, source: "judge" },
    ],
    [{ text: "ls -a" }, { kind: "correction", value: null, text: "ls -a" }],
    [{ withdraws: "f0" }, { kind: "thumbs", value: null, withdraws: "f0" }],
    [
      { verdict: "up", withdraws: "f0" },
      { value: 1, withdraws: "f0" },
    ],
  ])("%o", (input, expected) => {
    expect(made(input)).toMatchObject({ id: "f", requestId: "r", tenant: "default", createdAt: 5, ...expected });
  });

  it.each<[Partial<FeedbackInput>, string]>([
    [{}, "say what you think"],
    [{ verdict: "nice" }, '"nice" is none of up'],
    [{ verdict: "" }, "no number"],
    [{ verdict: "4" }, "what does 4 mean? --range"],
    [{ verdict: "9", range: "1..5" }, "outside of --range 1..5"],
    [{ verdict: "4", range: "1-5" }, "such as 1..5"],
    [{ verdict: "4", range: "5..5" }, "such as 1..5"],
    [{ verdict: "1.2", reward: true }, "between 0 and 1"],
    [{ verdict: "better" }, "than what?"],
    [{ verdict: "4", against: "large" }, "between -3"],
    [{ verdict: "up", against: "large" }, "up goes without --against"],
    [{ verdict: "up", range: "1..5" }, "up goes without --range"],
    [{ verdict: "0.5", reward: true, range: "0..1" }, "a score goes without --reward"],
    [{ text: " " }, "--text is empty"],
    [{ verdict: "up", source: "cat" }, "one of person, judge, system"],
    [{ verdict: "up", requestId: "" }, "request id is empty"],
  ])("refuses %o", (input, message) => {
    expect(() => made(input)).toThrow(UsageError);
    expect(() => made(input)).toThrow(message);
  });
});
