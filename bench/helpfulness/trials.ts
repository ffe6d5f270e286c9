// The trials that plan makes of a served request (docs/design/selection.md, Unbiased labels): one
// candidate, drawn evenly, is forced into the prompt or kept out of it by a fair coin; the others
// are chosen by similarity, as before the first helpfulness model. The label is the transformed
// outcome, by the formula of the rows that `precedent helpfulness train` reads.
import type { HelpfulnessFeatures } from "../../algorithms/selection/helpfulness-features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { HelpfulnessRow } from "../../connections/training/helpfulness.ts";
import { chooseExamples, type TrialDraw } from "../../operators/select/choose.ts";
import { mean } from "../support/statistics.ts";
import type { Answers, Prompt } from "./answers.ts";
import type { HelpfulnessData, Question } from "./data.ts";
import { qualityOf } from "./model.ts";
import { withExamples } from "./treatments.ts";
import { rateCandidates, settings, threshold } from "./two-stage.ts";

/** The defaults of the configuration. */
const served = { examples: 5, tokenBudget: 1_500, threshold, ...settings };
const probability = 0.5;
const seed = 20_261_128;

interface Trial {
  question: Question;
  prompt: Prompt;
  shown: boolean;
  features: number[];
}

/** One trial a question; asks the model for what is missing. The same questions get the same. */
export async function trialRows(
  data: HelpfulnessData,
  questions: readonly Question[],
  answers: Answers,
  features: HelpfulnessFeatures,
): Promise<HelpfulnessRow[]> {
  const trials: Trial[] = [];
  for (const [i, question] of questions.entries()) {
    const random = splitmix64(seed + i);
    const rated = await rateCandidates(data, question, features, null);
    const draw: TrialDraw = { pick: random(), shown: random() < probability, probability };
    const { examples, trial } = chooseExamples(rated, served, draw);
    if (trial === null) continue;
    // The best first.
    const neighbours = examples.map(({ id }) => question.candidates[Number(id)]!).reverse();
    trials.push({ question, prompt: withExamples(data, question, neighbours), ...trial });
  }
  await answers.ask(
    trials.map(({ prompt }) => prompt),
    "trials: training requests, one candidate forced in or kept out",
  );
  const rewards = trials.map(({ question, prompt }) => qualityOf(answers.of(prompt).text, question));
  return labelsOf(rewards, trials);
}

/** rewards: [0, 1]. The baseline is the mean of the other trials and one imaginary 1/2. */
export function labelsOf(
  rewards: readonly number[],
  trials: readonly { question: { request: string }; shown: boolean; features: number[] }[],
): HelpfulnessRow[] {
  const total = mean(rewards) * rewards.length;
  return trials.map(({ question, shown, features }, i) => {
    const others = (total - rewards[i]! + 0.5) / rewards.length;
    const sign = ((shown ? 1 : 0) - probability) / (probability * (1 - probability));
    return { group: question.request, features, effect: (rewards[i]! - others) * sign, weight: 1 };
  });
}
