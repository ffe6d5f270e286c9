// bench -- helpfulness: what choosing by predicted helpfulness is worth beside random examples, the
// nearest by similarity, none at all, and copying an answer; nl2bash, SmolLM2, token F1 against the
// references. The helpfulness model learns from training requests alone; the development requests
// are asked once. Answers are kept: a run that was broken off goes on.
import { createHelpfulnessFeatures } from "../../algorithms/selection/helpfulness-features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { Rated } from "../../operators/select/choose.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { pairedBootstrap } from "../support/bootstrap.ts";
import { mean, significant } from "../support/statistics.ts";
import { type Answers, openAnswers, type Prompt } from "./answers.ts";
import { type HelpfulnessData, loadHelpfulnessData, type Neighbour, type Question } from "./data.ts";
import { benchHelpfulnessModel, labelRows, qualityOf } from "./model.ts";
import { runTrials } from "./only-trials.ts";
import { exampleCounts, withExamples, withNearest, withoutExamples, withRandom } from "./treatments.ts";
import { budgetInTheMean, chooseTwoStage, rateCandidates } from "./two-stage.ts";

const trained = 150;
/** Training requests on which the budget for all requests is set. */
const unseen = 300;
const sample = { quick: 60, full: 200 };

export const helpfulness: Benchmark = {
  name: "helpfulness",
  about: "examples chosen by predicted helpfulness beside similarity, chance, none and copying",
  parts: ["trials"],
  run: (context) => (context.only === "trials" ? runTrials(context) : run(context)),
};

/** The prompts of one way to choose, one a question. */
type Prompts = Record<(typeof ways)[number], Prompt[]>;
const ways = ["similar", "two_stage", "random"] as const;

/**
 * Two-stage with its tokens limited request by request, or by one budget (tokens) for all requests.
 */
interface Compared {
  count: number;
  budget: number;
  equalEach: Prompts;
  equalInTheMean: Prompts;
}

async function run(context: BenchContext): Promise<Measured> {
  const size = context.quick ? sample.quick : sample.full;
  const data = await loadHelpfulnessData(context, { train: trained, unseen, dev: size });
  const answers = await openAnswers(context);
  const features = createHelpfulnessFeatures();
  const { model, kind, metrics } = await benchHelpfulnessModel(context, await labelRows(data, answers, features));
  try {
    const none = data.dev.map(withoutExamples);
    await answers.ask(none, "without examples");
    const rated = async (questions: readonly Question[]) => {
      const all: { question: Question; rated: Rated[] }[] = [];
      // One after the other: the helpfulness model has so many milliseconds for each.
      for (const question of questions)
        all.push({ question, rated: await rateCandidates(data, question, features, model) });
      return all;
    };
    const [dev, calibration] = [await rated(data.dev), await rated(data.unseen)];
    const best = dev.map((one) => chooseTwoStage(one.question, one.rated, 1).best);
    const choices = exampleCounts.map((count): Compared => {
      const budget = budgetInTheMean(calibration, count);
      const chosen = (tokenBudget?: number): Prompt[] =>
        dev.map((one) =>
          withExamples(data, one.question, chooseTwoStage(one.question, one.rated, count, tokenBudget).shown),
        );
      const others = {
        similar: data.dev.map((question) => withNearest(data, question, count)),
        random: data.dev.map((question, i) => withRandom(data, question, i, count)),
      };
      return {
        count,
        budget,
        equalEach: { ...others, two_stage: chosen() },
        equalInTheMean: { ...others, two_stage: chosen(budget) },
      };
    });
    // The default count first: what matters most is there soonest.
    for (const way of ways)
      for (const { count, equalEach, equalInTheMean } of [...choices].reverse()) {
        await answers.ask(equalEach[way], `${way}, ${count} examples`);
        await answers.ask(equalInTheMean[way], `${way}, ${count} examples, equal tokens in the mean`);
      }
    const rows = choices.map(({ count, equalEach }) => figuresOf(count, data.dev, answers, none, equalEach));
    const rowsInTheMean = choices.map(({ count, budget, equalInTheMean }) => ({
      budget,
      ...figuresOf(count, data.dev, answers, none, equalInTheMean),
    }));
    const { examples, ...headline } = rows.at(-1)!;
    return {
      figures: {
        n: size,
        examples,
        f1_none: significant(mean(qualities(data.dev, answers, none))),
        f1_copy: significant(
          mean(
            copies(
              data,
              data.dev.map(({ candidates }) => candidates[0]!),
            ),
          ),
        ),
        f1_copy_most_helpful: significant(mean(copies(data, best))),
        ...headline,
        by_examples: rows,
        by_examples_equal_in_mean: rowsInTheMean,
        proxy: {
          kind,
          ...Object.fromEntries(Object.entries(metrics).map(([name, value]) => [name, significant(value)])),
        },
      },
    };
  } finally {
    await model.close();
  }
}

const qualities = (questions: readonly Question[], answers: Answers, prompts: readonly Prompt[]): number[] =>
  questions.map((question, i) => qualityOf(answers.of(prompts[i]!).text, question));

const copies = ({ pool, dev }: HelpfulnessData, copied: readonly Neighbour[]): number[] =>
  dev.map((question, i) => qualityOf(pool[copied[i]!.index]!.response, question));

function figuresOf(
  examples: number,
  questions: readonly Question[],
  answers: Answers,
  none: readonly Prompt[],
  prompts: Prompts,
) {
  const base = qualities(questions, answers, none);
  const f1 = (way: keyof Prompts): number[] => qualities(questions, answers, prompts[way]);
  const [similar, twoStage] = [f1("similar"), f1("two_stage")];
  const worse = (way: keyof Prompts): number =>
    significant(mean(f1(way).map((quality, i) => (quality < base[i]! ? 1 : 0))));
  const added = (way: keyof Prompts): number =>
    significant(
      mean(prompts[way].map((prompt, i) => answers.of(prompt).promptTokens - answers.of(none[i]!).promptTokens)),
    );
  const { difference, low, high } = pairedBootstrap(twoStage, similar, { random: splitmix64(3) });
  return {
    examples,
    f1_random: significant(mean(f1("random"))),
    f1_similar: significant(mean(similar)),
    f1_two_stage: significant(mean(twoStage)),
    difference: significant(difference),
    ci_low: significant(low),
    ci_high: significant(high),
    hurt_random: worse("random"),
    hurt_similar: worse("similar"),
    hurt_two_stage: worse("two_stage"),
    shown: significant(mean(prompts.two_stage.map((prompt) => prompt.examples.length))),
    /** Added to the prompt, as the model counts them. */
    tokens: { similar: added("similar"), two_stage: added("two_stage") },
  };
}
