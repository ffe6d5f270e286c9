// Both stages as plan runs them: the 32 nearest, their features, the helpfulness model, the
// chooser. At equal token cost, in two ways: request by request (the examples may have no more
// tokens together, as selection estimates them, than those that similarity alone shows) or in the
// mean over all requests.
import type { CandidateFacts, HelpfulnessFeatures } from "../../algorithms/selection/helpfulness-features.ts";
import { exampleTokens } from "../../algorithms/text/tokens.ts";
import type { HelpfulnessModel } from "../../connections/helpfulness/port.ts";
import { chooseExamples, type Rated } from "../../operators/select/choose.ts";
import { rate } from "../../operators/select/rate.ts";
import { mean } from "../support/statistics.ts";
import type { HelpfulnessData, Neighbour, Question } from "./data.ts";
import { arm, factsOf } from "./model.ts";

/** tau until one is learnt: neither helps nor hurts. */
export const threshold = 0.5;
/**
 * The defaults of the configuration: chosen on training requests that the helpfulness model had not
 * seen, never on those that are measured.
 */
export const settings = { nearDuplicate: 0.99 };
const budgetStep = 5;
const largestBudgetPerExample = 200;

export interface Choice {
  /** The most helpful first. */
  shown: Neighbour[];
  /** The candidate with the highest prediction. */
  best: Neighbour;
}

/** The candidates of a question with their predictions, nearest first; null: by similarity. */
export async function rateCandidates(
  data: HelpfulnessData,
  question: Question,
  features: HelpfulnessFeatures,
  model: HelpfulnessModel | null,
): Promise<Rated[]> {
  const facts = factsOf(data, question);
  const request = { text: question.request, vector: question.vector };
  const { helpfulness, features: made, failure } = await rate(features, request, facts, [arm], model);
  if (failure !== null) throw new Error("the helpfulness model failed", { cause: failure });
  return facts.map((one, i): Rated => ({
    example: heldExample(String(i), one),
    similarity: one.similarity,
    vector: one.vector,
    tokens: exampleTokens(one.request, one.response),
    helpfulness: helpfulness[i]!,
    row: i,
    features: (row) => made(0, row),
    unfit: null,
  }));
}

/**
 * `rated`: of this question; the budget is for the examples together, by default what the `count`
 * nearest have.
 */
export function chooseTwoStage(
  { candidates }: Question,
  rated: readonly Rated[],
  count: number,
  tokenBudget = nearestTokens(rated, count),
): Choice {
  const best = rated.reduce((most, one) => (one.helpfulness > most.helpfulness ? one : most));
  const neighbour = (id: string): Neighbour => candidates[Number(id)]!;
  return {
    shown: shownOf(rated, count, tokenBudget)
      .map(({ id }) => neighbour(id))
      .reverse(),
    best: neighbour(best.example.id),
  };
}

/**
 * One budget for all requests: the largest, in steps of 5 tokens up to 200 an example, with which
 * `questions` (of the training set, never seen by the helpfulness model) are shown no more tokens
 * in the mean than their `count` nearest examples have.
 */
export function budgetInTheMean(questions: readonly { rated: readonly Rated[] }[], count: number): number {
  const allowed = mean(questions.map(({ rated }) => nearestTokens(rated, count)));
  const shown = (tokenBudget: number): number =>
    mean(
      questions.map(({ rated }) =>
        shownOf(rated, count, tokenBudget).reduce((sum, { id }) => sum + rated[Number(id)]!.tokens, 0),
      ),
    );
  let budget = largestBudgetPerExample * count;
  while (budget > budgetStep && shown(budget) > allowed) budget -= budgetStep;
  return budget;
}

const shownOf = (rated: readonly Rated[], count: number, tokenBudget: number) =>
  chooseExamples([...rated], { examples: count, threshold, tokenBudget, ...settings }).examples;

const nearestTokens = (rated: readonly Rated[], count: number): number =>
  rated.slice(0, count).reduce((sum, { tokens }) => sum + tokens, 0);

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
