import { describe, expect, it } from "vitest";
import type { ArmRequest, ArmResult } from "../../arms/arm.ts";
import { plainExample } from "../../schemas/example.testing.ts";
import type { Example } from "../../schemas/types.ts";
import { createArmJudge, createReferenceJudge } from "./judge.ts";
import { replayExample, type ExampleReplayDependencies } from "./example-replay.ts";
import { NO_USAGE } from "../../schemas/no-usage.ts";

const NOW = 1_700_000_000_000;
const signal = new AbortController().signal;
const example = (change: Partial<Example> = {}): Example =>
  plainExample({
    ...{ tenant: "t", domain: "t/d", response: "dir", embeddingModel: "m", quality: 0.5, bytes: 100, replays: 1 },
    source: { arm: "large", model: "big", requestId: "r1" },
    expiresAt: NOW + 5,
    createdAt: NOW - 5,
    ...change,
  });
const answered = (text: string, finishReason = "stop"): ArmResult => ({
  kind: "answer",
  text,
  finishReason,
  model: "big-2",
  usage: { ...NO_USAGE, prompt: 10, prefilled: 10, completion: 5 },
  cost: 0.1,
  attempts: 1,
  queueMs: 0,
  firstTokenMs: null,
});
const failure: ArmResult = { kind: "failure", code: "endpoint_timeout", message: "", attempts: 1, retriable: true };

function setUp(answers: ArmResult[], change: Partial<ExampleReplayDependencies> = {}) {
  const asked: ArmRequest[] = [];
  const dependencies: ExampleReplayDependencies = {
    arm: {
      name: "large",
      model: "big",
      answer: (request) => {
        asked.push(request);
        return Promise.resolve(answers[asked.length - 1] ?? failure);
      },
    },
    system: "be brief",
    judge: createReferenceJudge(new Map([["list all files", ["ls -a"]]])),
    samples: answers.length,
    temperature: 0.8,
    personalData: {},
    affords: () => true,
    mayAsk: () => Promise.resolve(true),
    callMs: 1_000,
    clock: () => NOW,
    ...change,
  };
  return { asked, replay: (given = example()) => replayExample(given, dependencies, signal) };
}

describe("an example replay", () => {
  it("puts the best of several answers in the place of the stored one, under the id that follows from it", async () => {
    const { asked, replay } = setUp([answered("ls"), answered("ls -a"), answered("rm")]);
    const replayed = await replay();
    expect(replayed).toMatchObject({ outcome: "replaced", oldQuality: 0, newQuality: 1, tokens: 45 });
    const [gone, put] = replayed.changes;
    expect(gone).toEqual({ id: "e1", domain: "t/d", value: null });
    expect(put?.value).toMatchObject({
      id: put?.id,
      request: "list all files",
      response: "ls -a",
      quality: 1,
      bytes: 100 - 3 + 5,
      replays: 2,
      source: { arm: "large", model: "big-2", requestId: "r1" },
      expiresAt: NOW + 5,
    });
    expect(put?.id).not.toBe("e1");
    expect(new Set(asked.map(({ params }) => params.seed)).size).toBe(3);
    expect(asked[0]?.pieces.map(({ text }) => text)).toEqual(["be brief", "list all files"]);
  });

  it("breaks markers of chat templates in a new answer", async () => {
    const replayed = await setUp([answered("ls -a</s>")], {
      judge: createReferenceJudge(new Map([["list all files", ["ls -a< /s>"]]])),
    }).replay();
    expect(replayed.changes.at(-1)?.value).toMatchObject({ response: "ls -a< /s>" });
  });

  it("never replaces with a worse answer or one that is as good", async () => {
    const kept = await setUp([answered("rm"), answered("ls")]).replay(example({ response: "ls -a" }));
    expect(kept).toMatchObject({
      outcome: "kept",
      oldQuality: 1,
      changes: [{ id: "e1", value: { response: "ls -a", replays: 2 } }],
    });
    expect(kept.newQuality).toBeLessThan(1);
  });

  it.each<[string, ArmResult[], Partial<ExampleReplayDependencies>]>([
    ["same", [answered("dir"), answered("dir")], {}],
    ["failed", [failure, answered("ls -", "length")], {}],
    ["unjudged", [answered("ls -a")], { judge: createReferenceJudge(new Map()) }],
  ])("ends as %s and counts as an attempt", async (outcome, answers, change) => {
    expect(await setUp(answers, change).replay()).toMatchObject({
      outcome,
      newQuality: null,
      changes: [{ id: "e1", value: { replays: 2, response: "dir" } }],
    });
  });

  it("stops where the budget ends", async () => {
    const { asked, replay } = setUp([answered("a"), answered("b"), answered("c")], {
      affords: ({ tokens }) => tokens < 20,
    });
    expect((await replay()).tokens).toBe(30);
    expect(asked).toHaveLength(2);
  });

  it("stops where no more may be asked, and keeps what it has", async () => {
    let looks = 0;
    const { asked, replay } = setUp([answered("ls -a"), answered("b")], {
      mayAsk: () => Promise.resolve(looks++ < 1),
    });
    expect(await replay()).toMatchObject({ outcome: "replaced", samples: 1 });
    expect(asked).toHaveLength(1);
    const never = setUp([answered("a")], { mayAsk: () => Promise.resolve(false) });
    expect((await never.replay()).samples).toBe(0);
    expect(never.asked).toHaveLength(0);
  });

  it("keeps no personal data that a new answer brings", async () => {
    const { replay } = setUp([answered("ls -a bob@company.com")]);
    const { changes } = await replay();
    expect(changes[1]?.value?.response).toBe("ls -a <EMAIL_1>");
  });
});

describe("an arm as judge", () => {
  const judgeOf = (score: number | null) =>
    createArmJudge("j", () => Promise.resolve({ score, verdicts: [], unread: 0, tokens: 7, cost: 0.2 }));
  const pair = { exampleId: "e", request: "q", stored: "a", storedQuality: 0.6, candidate: "b" };
  it.each([
    [3, 1],
    [1.5, 0.8],
    [0, 0.6],
    [-3, 0],
  ])("moves the quality by its score %d to %d", async (score, quality) => {
    const judgement = await judgeOf(score).compare(pair, signal);
    expect(judgement?.quality).toBeCloseTo(quality);
    expect(judgement).toMatchObject({ score, tokens: 7, cost: 0.2 });
  });
  it("says so when it can't tell", async () => {
    expect(await judgeOf(null).compare(pair, signal)).toBeNull();
  });
});
