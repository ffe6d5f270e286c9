// Token F1 of two short texts, as SQuAD and NL2Bash count it: order does not matter, repeats do.
// Stands in for a judge where a reference is known.
import { normalise } from "./normalise.ts";

/** Lower-case words and flags (letters, digits, . - _), every other mark alone. */
export const answerTokens = (text: string): string[] =>
  normalise(text)
    .toLowerCase()
    .match(/[\p{L}\p{N}._-]+|[^\s\p{L}\p{N}._-]/gu) ?? [];

/** Harmonic mean of precision and recall, [0, 1]; 1 for two empty texts. */
export function tokenF1(answer: string, reference: string): number {
  const given = answerTokens(answer);
  const wanted = answerTokens(reference);
  if (given.length === 0 && wanted.length === 0) return 1;
  const left = new Map<string, number>();
  for (const token of wanted) left.set(token, (left.get(token) ?? 0) + 1);
  let common = 0;
  for (const token of given) {
    const count = left.get(token) ?? 0;
    if (count === 0) continue;
    left.set(token, count - 1);
    common++;
  }
  return (2 * common) / (given.length + wanted.length);
}

/** Against the reference that it comes closest to; 0 without references. */
export const bestTokenF1 = (answer: string, references: readonly string[]): number =>
  references.reduce((best, reference) => Math.max(best, tokenF1(answer, reference)), 0);
