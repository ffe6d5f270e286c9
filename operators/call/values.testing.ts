// A unit of work, and an answer to it, for the unit tests of link and call.
import type { ArmAnswer } from "../../arms/arm.ts";
import type { Piece, Request, Work } from "../../schemas/types.ts";
import type { Paired, Taken } from "../flow.ts";
import { aDecision, aRequest, NOW, selected } from "../values.testing.ts";
import { NO_USAGE } from "../../schemas/no-usage.ts";

const pieces: Piece[] = [
  { kind: "example", id: "e1", role: "user", text: "list files" },
  { kind: "example", id: "e1", role: "assistant", text: "ls" },
  { kind: "turn", id: null, role: "user", text: "list all files" },
];

export function aWork(change: Partial<Work> = {}): Work {
  return {
    request: aRequest(),
    decision: aDecision({
      arms: [
        {
          arm: "small",
          model: "small",
          cost: 0,
          context: [],
          mean: 0,
          deviation: 0,
          sampled: 0,
          bias: 0,
          saturation: 0,
          cachedShare: 0,
          probability: 1,
          order: "best_last",
          orderProbability: 1,
          examples: [],
          trial: null,
        },
      ],
      template: "chat-1",
      degraded: ["embedder"],
      createdAt: NOW + 5,
    }),
    role: "answer",
    pieces,
    fallback: null,
    cacheKey: null,
    notAfter: NOW + 120_000,
    plannedAt: NOW + 10,
    planMs: 10,
    ...change,
  };
}

/** What the end of plan makes aWork() of. */
export function aPaired({
  request = {},
  alternative,
}: { request?: Partial<Request>; alternative?: string } = {}): Paired {
  const { decision, plannedAt, planMs, notAfter } = aWork();
  const { arms, arm, probability, load, policyVersion, askProbability, breakers, reuse, createdAt } = decision;
  return {
    ...{ ...selected({}, request), timestamp: plannedAt - planMs, deadline: notAfter, degraded: decision.degraded },
    choice: {
      ...{ arms, arm, probability, load, policyVersion, askProbability, breakers, reuse, createdAt },
      ...{
        asked: alternative !== undefined,
        alternativeArm: alternative ?? null,
        alternativeProbability: decision.alternativeProbability,
      },
    },
    prompt: { pieces, template: decision.template, cacheKey: null, plannedAt },
    alternative: alternative === undefined ? null : { arm: alternative, pieces },
  };
}

export function aTaken(change: Partial<Work> = {}): Taken {
  const position = { topic: "precedent.work.small", partition: 3, offset: 11 };
  return { record: aWork(change), position, timestamp: NOW + 11, receivedAt: NOW + 15 };
}

export const anAnswer = (change: Partial<ArmAnswer> = {}): ArmAnswer => ({
  kind: "answer",
  text: "ls -a",
  finishReason: "stop",
  model: "small-1",
  usage: { ...NO_USAGE, prompt: 30, cached: 10, prefilled: 20, completion: 5 },
  cost: 0.25,
  attempts: 1,
  queueMs: 0,
  firstTokenMs: 9,
  ...change,
});
