// Which of the candidates are shown, and in what order (spec 10, IC-Cache §4.1). Pure.
import { exampleTokens } from "../../algorithms/tokens.ts";
import type { Candidate } from "../../connections/pool/port.ts";
import type { SelectedExample } from "../flow.ts";

/** Predicted helpfulness of an example for an arm, [0, 1]. */
export type Helpfulness = (candidate: Candidate, arm: string) => number;

/** Relevance stands in for helpfulness until a proxy is learnt. */
export const similarityAsHelpfulness: Helpfulness = ({ similarity }) => Math.max(0, Math.min(1, similarity));

export interface ChooseLimits {
  /** Examples at most. */
  examples: number;
  /** tau: helpfulness below it is not shown, [0, 1]. */
  threshold: number;
  /** Candidates less similar than this are not considered, [-1, 1]. */
  minimumSimilarity: number;
  /** Estimated tokens of all examples together. */
  tokenBudget: number;
}

interface Ranked extends Candidate {
  helpfulness: number;
}

/** By id at last, so that the same candidates always give the same prompt. */
const mostHelpfulFirst = (a: Ranked, b: Ranked): number =>
  b.helpfulness - a.helpfulness ||
  b.similarity - a.similarity ||
  (a.example.id < b.example.id ? -1 : a.example.id > b.example.id ? 1 : 0);

/**
 * The most helpful that fit, the most helpful last. An example made from this very request is never shown; of those with the same
 * answer only the most helpful is; one that doesn't fit what is left of the budget is passed over for smaller ones.
 */
export function chooseExamples(
  candidates: readonly Candidate[],
  requestId: string,
  arm: string,
  limits: ChooseLimits,
  helpfulness: Helpfulness,
): SelectedExample[] {
  const ranked: Ranked[] = [];
  for (const candidate of candidates) {
    const { example, similarity } = candidate;
    if (similarity < limits.minimumSimilarity || example.source.requestId === requestId) continue;
    const predicted = helpfulness(candidate, arm);
    if (predicted >= limits.threshold) ranked.push({ ...candidate, helpfulness: predicted });
  }
  ranked.sort(mostHelpfulFirst);

  const chosen: SelectedExample[] = [];
  const answers = new Set<string>();
  let left = limits.tokenBudget;
  for (const { example, similarity, helpfulness } of ranked) {
    if (chosen.length >= limits.examples) break;
    const answer = example.response.trim();
    const tokens = exampleTokens(example.request, example.response);
    if (tokens > left || answers.has(answer)) continue;
    answers.add(answer);
    left -= tokens;
    const { id, request, response } = example;
    chosen.push({ id, request, response, similarity, helpfulness, tokens, explored: false, features: [] });
  }
  return chosen.reverse();
}
