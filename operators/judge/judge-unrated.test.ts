import { describe, expect, it } from "vitest";
import type { ArmRequest, ArmResult } from "../../arms/arm.ts";
import type { Compared, Comparison } from "../../algorithms/routing/comparison.ts";
import { createJudgeUnrated } from "./judge-unrated.ts";
import type { Unrated } from "./unrated.ts";
import { NO_USAGE } from "../../schemas/no-usage.ts";

const signal = new AbortController().signal;
const item = (change: Partial<Unrated> = {}): Unrated => ({
  ...{ requestId: "r1", tenant: "acme", arm: "small", text: "dir", otherArm: "large", otherText: "ls -a" },
  ...{ messages: [{ role: "user", content: "list all files" }], maxTokens: 50 },
  ...change,
});
const verdict = { score: -2, verdicts: [-2, -2], unread: 0, tokens: 40, cost: 0.02 };

function setUp(compared: Compared = verdict, answer?: ArmResult) {
  const comparisons: Comparison[] = [];
  const asked: ArmRequest[] = [];
  const judge = createJudgeUnrated({
    judge: "judge@big",
    compare: (comparison) => {
      comparisons.push(comparison);
      return Promise.resolve(compared);
    },
    ...(answer && {
      reference: {
        template: "chat-turns" as const,
        arm: {
          answer: (request: ArmRequest) => {
            asked.push(request);
            return Promise.resolve(answer);
          },
        },
      },
    }),
    share: 0.1,
    clock: () => 7,
  });
  return { comparisons, asked, judge: (one = item()) => judge(one, signal) };
}

describe("an unrated answer", () => {
  it("gets comparison feedback of the judge, under an id that follows from the request", async () => {
    const { judge, comparisons } = setUp();
    const { feedback, judgement } = await judge();
    expect(comparisons).toMatchObject([{ question: "list all files", first: "dir", second: "ls -a" }]);
    expect(feedback).toMatchObject({
      ...{ requestId: "r1", tenant: "acme", kind: "comparison", value: -2, source: "judge" },
      ...{ author: "judge@big", against: "large" },
    });
    expect(judgement).toMatchObject({ other: "alternative", probability: 0.1, score: -2, cost: 0.02, tokens: 40 });
    expect((await judge()).feedback?.id).toBe(feedback?.id);
    expect((await judge(item({ tenant: "other" }))).feedback?.id).not.toBe(feedback?.id);
  });

  it("gets its other answer from the reference arm, at a cost that counts", async () => {
    const usage = { ...NO_USAGE, prompt: 8, prefilled: 8, completion: 2 };
    const { judge, asked, comparisons } = setUp(verdict, {
      ...{ kind: "answer", text: "ls -A", finishReason: "stop", model: "m", usage, cost: 0.5 },
      ...{ attempts: 1, queueMs: 0, firstTokenMs: null },
    });
    const messages = [
      { role: "user" as const, content: "hello" },
      { role: "assistant" as const, content: "hi" },
      { role: "user" as const, content: "list all files" },
    ];
    const { judgement } = await judge(item({ otherText: null, messages }));
    expect(asked[0]?.pieces.map(({ text }) => text)).toEqual(["hello", "hi", "list all files"]);
    expect(asked[0]?.caching?.mayStore).toBe(false);
    expect(comparisons[0]?.second).toBe("ls -A");
    expect(comparisons[0]?.question).toContain("assistant: hi\nuser: list all files");
    expect(judgement).toMatchObject({ other: "generated", cost: 0.52, tokens: 50 });
  });

  it("tells a judge that answers without a verdict from one that does not answer", async () => {
    const nothing = { score: null, verdicts: [], unread: 4, tokens: 0, cost: 0 };
    expect(await setUp({ ...nothing, tokens: 9 }).judge()).toMatchObject({ feedback: null, unanswered: false });
    expect(await setUp(nothing).judge()).toMatchObject({ feedback: null, unanswered: true });
    const failure: ArmResult = { kind: "failure", code: "rate_limited", message: "", attempts: 1, retriable: true };
    const away = setUp(verdict, failure);
    expect(await away.judge(item({ otherText: null }))).toMatchObject({ feedback: null, unanswered: true });
    expect(away.comparisons).toEqual([]);
  });
});
