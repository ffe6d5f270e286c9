// ROUGE-L: how much of two answers is the same in the same order. Pure.
import { answerTokens } from "../../algorithms/text/token-f1.ts";

/** F1 of the longest common subsequence of words, [0, 1]; 1 for two empty texts. */
export function rougeL(one: string, other: string): number {
  const [a, b] = [answerTokens(one), answerTokens(other)];
  if (a.length + b.length === 0) return 1;
  // lengths[j]: longest common subsequence of what was seen of a and the first j words of b.
  const lengths = new Uint32Array(b.length + 1);
  for (const word of a) {
    let diagonal = 0;
    for (let j = 1; j <= b.length; j++) {
      const above = lengths[j]!;
      lengths[j] = word === b[j - 1] ? diagonal + 1 : Math.max(above, lengths[j - 1]!);
      diagonal = above;
    }
  }
  return (2 * lengths[b.length]!) / (a.length + b.length);
}
