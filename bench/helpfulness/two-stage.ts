// Both stages as plan runs them: the 32 nearest, their features, the proxy, the chooser. At equal token cost: the examples may have no more tokens
// together, as selection estimates them, than those that similarity alone would have shown; or, with one budget for all requests, no more in the mean.
import type { CandidateFacts, HelpfulnessFeatures } from "../../algorithms/helpfulness-features.ts";
import { exampleTokens } from "../../algorithms/tokens.ts";
import type { HelpfulnessModel } from "../../connections/proxy/port.ts";
import { chooseExamples, type Rated } from "../../operators/select/choose.ts";
import { rate } from "../../operators/select/rate.ts";
import type { HelpfulnessData, Neighbour, Question } from "./data.ts";
import { arm, factsOf } from "./proxy.ts";

/** tau until one is learnt: neither helps nor hurts. */
const threshold = 0.5;
/** The defaults of the configuration: chosen on training requests that the proxy had not seen, never on those that are measured. */
const settings = { nearDuplicate: 0.99, relevance: 1 };

/**
 * With one example the budget of the nearest one leaves out whatever is longer than it. This one budget for all is the largest up to 200 with which 300
 * training requests that the proxy had not seen were shown no more tokens in the mean than their nearest example has (45.2 against 45.3).
 */
export const oneBudget = 200;

export interface Choice {
  /** The most helpful first. */
  shown: Neighbour[];
  /** The candidate with the highest prediction. */
  best: Neighbour;
}

/** tokenBudget: for the examples together; absent: what the `count` nearest have. */
export async function chooseTwoStage(
  data: HelpfulnessData,
  question: Question,
  count: number,
  features: HelpfulnessFeatures,
  model: HelpfulnessModel,
  tokenBudget?: number,
): Promise<Choice> {
  const { candidates, request, vector } = question;
  const facts = factsOf(data, question);
  const { helpfulness, failure } = await rate(features, { text: request, vector }, facts, [arm], model);
  if (failure !== null) throw new Error("the proxy failed", { cause: failure });
  const tokens = facts.map((one) => exampleTokens(one.request, one.response));
  const rated = facts.map((one, i): Rated => ({
    example: heldExample(String(i), one),
    similarity: one.similarity,
    vector: one.vector,
    tokens: tokens[i]!,
    helpfulness: helpfulness[i]!,
    features: new Float32Array(),
    unfit: null,
  }));
  const { examples } = chooseExamples(rated, {
    examples: count,
    threshold,
    tokenBudget: tokenBudget ?? tokens.slice(0, count).reduce((sum, value) => sum + value, 0),
    ...settings,
  });
  const best = helpfulness.indexOf(Math.max(...helpfulness));
  return { shown: examples.map(({ id }) => candidates[Number(id)]!).reverse(), best: candidates[best]! };
}

const heldExample = (id: string, { request, response }: CandidateFacts): Rated["example"] => ({
  id,
  tenant: "default",
  domain: "default/shell",
  request,
  response,
  source: { arm: "import", model: "unknown", requestId: null },
  quality: 1,
  bytes: 0,
  expiresAt: null,
  replays: 0,
  createdAt: 0,
});
