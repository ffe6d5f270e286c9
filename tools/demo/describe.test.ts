import { stripVTControlCharacters } from "node:util";
import { expect, it } from "vitest";
import { aDecision } from "../../operators/values.testing.ts";
import type { ArmScore, Response } from "../../schemas/types.ts";
import { describeAnswered } from "./describe.ts";
import { NO_USAGE } from "../../schemas/no-usage.ts";

const score = (arm: string, probability: number, examples: ArmScore["examples"]): ArmScore => ({
  arm,
  model: `${arm}-model`,
  cost: 1,
  context: [],
  mean: 0.5,
  deviation: 0.1,
  sampled: 0.5,
  order: "best_last",
  orderProbability: 1,
  bias: 0,
  saturation: 0,
  cachedShare: 0,
  probability,
  examples,
  trial: null,
});
const shown = (id: string, similarity: number) => ({
  id,
  similarity,
  helpfulness: 0.5,
  tokens: 5,
  explored: false,
  cachedBonus: 0,
  features: [],
});

const decision = aDecision({
  ...{ requestId: "r", partition: 0, offset: 0, tenant: "default", domain: "default/shell" },
  // In prompt order: the best last.
  arms: [score("small", 0.7, [shown("far", 0.4), shown("near", 0.9)]), score("large", 0.3, [])],
  probability: 0.7,
  template: "t",
  timings: [
    { operator: "embed", ms: 12.34 },
    { operator: "pair", ms: 0.94 },
  ],
  createdAt: 0,
});
const response: Response = {
  requestId: "r",
  tenant: "default",
  attempt: 1,
  status: "ok",
  text: "ls -la",
  finishReason: "stop",
  stopSequence: null,
  arm: "small",
  model: "small-model",
  source: "generated",
  failedArms: [],
  exampleIds: ["far", "near"],
  domain: "default/default",
  exampleTokens: 0,
  usage: { ...NO_USAGE, prompt: 1, prefilled: 1, completion: 1 },
  duplicate: false,
  cost: 0,
  failedCost: 0,
  billed: 0,
  savedCost: 0,
  account: null,
  timings: { plan: 1, queue: 2, firstToken: 3, total: 4 },
  error: null,
  passthrough: null,
  linkPolicy: null,
  degraded: [],
  asked: false,
  alternative: null,
  createdAt: 0,
};
const options = {
  question: "list all files",
  references: ["ls -la"],
  example: (id: string) => (id === "near" ? { request: "list files", response: "ls" } : undefined),
  width: 100,
};
const plain = (answered: Parameters<typeof describeAnswered>[0]): string[] =>
  describeAnswered(answered, options).map(stripVTControlCharacters);

it("shows the best example first, the arm with its probability, the answer, and times of a millisecond or more", () => {
  expect(plain({ response, decision })).toEqual([
    "list all files",
    "examples  0.90  list files → ls",
    "          0.40  far",
    "arm       small with probability 0.70 (small-model; large 0.30; nothing learnt yet)",
    "answer    ls -la  token F1 1.00",
    "ms        embed 12 │ queue 2.0 · first token 3.0 · total 4.0",
  ]);
});

it("says what failed, and what was degraded", () => {
  const error = { code: "endpoint_refused", message: "no connection", param: null, retryAfterMs: null };
  const lines = plain({ response: { ...response, status: "failed", error, degraded: ["embedder"] }, decision: null });
  expect(lines).toContain("answer    failed: endpoint_refused no connection");
  expect(lines).toContain("degraded  embedder");
});

it("lets no control character of an answer reach the terminal", () => {
  const lines = describeAnswered({ response: { ...response, text: "a\u001b[2Jb\u0007\nc" }, decision }, options);
  expect(lines.join("")).not.toMatch(/\u001b\[2J|\u0007|\n/);
});
