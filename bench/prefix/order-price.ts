// What an order of examples costs in reward: a real small model answers the same questions with the
// same examples in each order. Answers are kept as they come: what was broken off goes on, and what
// was stopped counts the questions that have all their answers.
import { existsSync } from "node:fs";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { bestTokenF1 } from "../../algorithms/text/token-f1.ts";
import { defaultModel, modelFile } from "../../config/models.ts";
import type { BenchContext } from "../benchmark.ts";
import { openAnswers, type Prompt } from "../helpfulness/answers.ts";
import { pairedBootstrap } from "../support/bootstrap.ts";
import { mean, significant } from "../support/statistics.ts";
import { choices, type Way } from "./simulate.ts";
import { type Stream, withReferences } from "./streams.ts";

const orders = ["best_last", "shared_prefix", "random"] as const satisfies readonly Way[];

/** Questions by model; the larger model is measured where its file is there. */
const questionsOf = { [defaultModel]: 300, "Qwen2.5-Coder-0.5B-Instruct": 100 };

export interface OrderPrice {
  model: string;
  questions: number;
  /** Token F1 against the closest reference. */
  reward: Record<(typeof orders)[number], number>;
  /** Served order less this order: mean and 95 % interval. */
  over_best_last: Interval;
  over_random: Interval;
  /** Questions that have the same answer in both orders. */
  same_as_best_last: number;
}

interface Interval {
  difference: number;
  low: number;
  high: number;
}

/** stream: of nl2bash; its prompts decide what the order begins with. */
export async function orderPrices(context: BenchContext, stream: Stream): Promise<OrderPrice[]> {
  const prices: OrderPrice[] = [];
  for (const [model, count] of Object.entries(questionsOf)) {
    if (!existsSync(modelFile(model)) || context.signal.aborted) continue;
    const price = await priceOf(context, stream, model, context.quick ? 5 : count);
    if (price !== null) prices.push(price);
  }
  return prices;
}

async function priceOf(
  context: BenchContext,
  stream: Stream,
  model: string,
  count: number,
): Promise<OrderPrice | null> {
  const { stream: longer, references } = await withReferences(context, stream, count);
  const promptsOf = (way: Way): Prompt[] =>
    choices(longer, { way, bonus: 0, processes: 1 })
      .chosen.slice(stream.questions.length)
      .map((shown, i) => ({
        request: longer.questions[stream.questions.length + i]!,
        examples: shown.map(({ index }) => stream.pool[index]!),
      }));
  const prompts = orders.map(promptsOf);
  const answers = await openAnswers(context, model);
  const questions = references.map((_, i) => prompts.map((of) => of[i]!));
  try {
    await answers.ask(questions.flat(), `${model}: ${orders.join(", ")}`);
  } catch (error) {
    if (!context.signal.aborted) throw error;
  }
  const answered = questions.flatMap((of, i) =>
    of.every(answers.has) ? [{ texts: of.map((prompt) => answers.of(prompt).text), references: references[i]! }] : [],
  );
  if (answered.length === 0) return null;
  const [last, served, random] = orders.map((_, o) =>
    answered.map(({ texts, references: right }) => bestTokenF1(texts[o]!, right)),
  ) as [number[], number[], number[]];
  const over = (other: readonly number[]): Interval => {
    const { difference, low, high } = pairedBootstrap(served, other, { random: splitmix64(7) });
    return { difference: rounded(difference), low: rounded(low), high: rounded(high) };
  };
  return {
    ...{ model, questions: answered.length },
    reward: {
      ...{ best_last: significant(mean(last)), shared_prefix: significant(mean(served)) },
      random: significant(mean(random)),
    },
    ...{ over_best_last: over(last), over_random: over(random) },
    same_as_best_last: answered.filter(({ texts }) => texts[0] === texts[1]).length,
  };
}

const rounded = (value: number): number => Number(value.toFixed(4));
