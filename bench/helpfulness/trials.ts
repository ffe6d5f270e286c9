// The trials that plan makes of a served request (docs/design/selection.md, Unbiased labels): one
// candidate, drawn evenly, is forced into the prompt or kept out of it by a fair coin; the others
// are chosen by similarity, as before the first helpfulness model. The label is the transformed
// outcome, by the formula of the rows that `precedent helpfulness train` reads.
import type { HelpfulnessFeatures } from "../../algorithms/selection/helpfulness-features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { HelpfulnessRow } from "../../connections/training/helpfulness.ts";
import { chooseExamples, type TrialDraw } from "../../operators/select/choose.ts";
import { shownProbability } from "../../operators/select/explore.ts";
import type { BenchContext } from "../benchmark.ts";
import type { Answers } from "./answers.ts";
import type { HelpfulnessData } from "./data.ts";
import { qualityOf } from "./model.ts";
import { withExamples } from "./treatments.ts";
import { rateCandidates, settings, threshold } from "./two-stage.ts";

/** The defaults of the configuration. */
const served = { examples: 5, tokenBudget: 1_500, threshold, ...settings };
const probability = shownProbability;
const seed = 20_261_128;

export interface Trial {
  /** The request. */
  group: string;
  shown: boolean;
  features: readonly number[];
  /** The answer's token F1, [0, 1]. */
  reward: number;
}

/**
 * One trial for each of the data's unseen questions, always the same; those that the model has
 * answered, where the run is cut short.
 */
export async function askTrials(
  { signal }: Pick<BenchContext, "signal">,
  data: HelpfulnessData,
  answers: Answers,
  features: HelpfulnessFeatures,
): Promise<Trial[]> {
  const drawn = [];
  for (const [i, question] of data.unseen.entries()) {
    const random = splitmix64(seed + i);
    const rated = await rateCandidates(data, question, features, null);
    const draw: TrialDraw = { pick: random(), shown: random() < probability, probability };
    const { examples, trial } = chooseExamples(rated, served, draw);
    if (trial === null) continue;
    // The best first.
    const neighbours = examples.map(({ id }) => question.candidates[Number(id)]!).reverse();
    drawn.push({ question, trial, prompt: withExamples(data, question, neighbours) });
  }
  const prompts = drawn.map(({ prompt }) => prompt);
  await answers
    .ask(prompts, "trials: training requests, one candidate forced in or kept out")
    .catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  return drawn
    .filter(({ prompt }) => answers.has(prompt))
    .map(({ question, trial, prompt }) => ({
      group: question.request,
      shown: trial.shown,
      features: trial.features,
      reward: qualityOf(answers.of(prompt).text, question),
    }));
}

/** The baseline is the mean of the other trials' rewards and one imaginary 1/2. */
export function labelsOf(trials: readonly Trial[]): HelpfulnessRow[] {
  const total = trials.reduce((sum, { reward }) => sum + reward, 0);
  return trials.map(({ group, shown, features, reward }) => {
    const others = (total - reward + 0.5) / trials.length;
    const sign = ((shown ? 1 : 0) - probability) / (probability * (1 - probability));
    return { group, features, effect: (reward - others) * sign, weight: 1 };
  });
}
