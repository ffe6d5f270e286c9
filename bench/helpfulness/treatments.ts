// What is asked of the model besides two-stage selection: single examples for the helpfulness
// model's labels, and the ways to choose that it is compared with.
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { shuffled } from "../support/samples.ts";
import type { Prompt } from "./answers.ts";
import type { HelpfulnessData, Neighbour, Question } from "./data.ts";

export const exampleCounts = [1, 3, 5] as const;
const nearestLabelled = 2;
const othersLabelled = 4;

/**
 * Candidates of a training question that get a label: the two nearest, and four at random of the
 * rest.
 */
export const labelled = ({ candidates }: Question, i: number): Neighbour[] => [
  ...candidates.slice(0, nearestLabelled),
  ...shuffled(candidates.slice(nearestLabelled), i + 1).slice(0, othersLabelled),
];

export const withoutExamples = ({ request }: Question): Prompt => ({ request, examples: [] });

/** neighbours: the best first. */
export const withExamples = (
  { pool }: HelpfulnessData,
  { request }: Question,
  neighbours: readonly Pick<Neighbour, "index">[],
): Prompt => ({ request, examples: neighbours.map(({ index }) => pool[index]!).reverse() });

export const withNearest = (data: HelpfulnessData, question: Question, count: number): Prompt =>
  withExamples(data, question, question.candidates.slice(0, count));

/** Random examples of the whole pool, the same for each i; fewer are a prefix of more. */
export function withRandom(data: HelpfulnessData, question: Question, i: number, count: number): Prompt {
  const random = splitmix64(1_000_003 + i);
  const drawn = Array.from({ length: Math.max(...exampleCounts) }, () => ({
    index: Math.floor(random() * data.pool.length),
  }));
  return withExamples(data, question, drawn.slice(0, count));
}
