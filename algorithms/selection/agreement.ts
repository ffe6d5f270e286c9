// Agreement of the candidates' answers: one that stands alone is more likely to mislead. At most
// n^2 / 2 comparisons a token: 0.05 ms for 32 short answers.
import { commonTokensOfPairs, type HashedTokens, overlapF1 } from "../text/text-overlap.ts";

export interface Agreements {
  /** Mean token F1 with the other answers, weighted by similarity, [0, 1]; 0: no others. */
  all: Float64Array;
  nearest: Float64Array;
  /** Weighted share of the others whose answer begins with the same token. */
  opening: Float64Array;
  /**
   * Expected token F1, [0, 1], if each candidate's answer were right with a probability by its
   * weight (minimum Bayes risk): similarity and words shared with the request.
   */
  consensus: Float64Array;
}

/** Weight of another candidate: e^(-sharpness d), where its cosine is d below the best. */
const sharpness = 10;
/** Exponents of the weights, chosen on training pairs (bench/results/NOTES.md). */
const consensusSharpness = { similarity: 15, overlap: 6 } as const;

/** similarities, overlaps ([0, 1]): of each candidate with the request; tokens: of its answer. */
export function agreementsOf(
  similarities: ArrayLike<number>,
  tokens: readonly HashedTokens[],
  overlaps: ArrayLike<number>,
): Agreements {
  const n = similarities.length;
  let best = -1;
  let mostOverlap = 0;
  for (let i = 0; i < n; i++) {
    best = Math.max(best, similarities[i]!);
    mostOverlap = Math.max(mostOverlap, overlaps[i]!);
  }
  const weights = new Float64Array(n);
  const votes = new Float64Array(n);
  let allVotes = 0;
  for (let i = 0; i < n; i++) {
    const nearness = similarities[i]! - best;
    weights[i] = finite(Math.exp(sharpness * nearness));
    const { similarity, overlap } = consensusSharpness;
    votes[i] = finite(Math.exp(similarity * nearness + overlap * (overlaps[i]! - mostOverlap)));
    allVotes += votes[i]!;
  }
  const common = commonTokensOfPairs(tokens);
  const column = (): Float64Array => new Float64Array(n);
  const [all, nearest, opening, consensus] = [column(), column(), column(), column()];
  for (let i = 0; i < n; i++) {
    const own = tokens[i]!;
    let weight = 0;
    let agreed = 0;
    let begunAlike = 0;
    // It agrees with itself entirely.
    let voted = votes[i]!;
    let nearestF1 = 0;
    let nearestWeight = -1;
    for (let j = 0; j < n; j++) {
      if (j === i) continue;
      const f1 = overlapF1(own, tokens[j]!, common[i > j ? i * n + j : j * n + i]);
      const other = weights[j]!;
      weight += other;
      agreed += other * f1;
      voted += votes[j]! * f1;
      if (own.first === tokens[j]!.first) begunAlike += other;
      // Ties in similarity go to the candidate with more agreement, so that order does not matter.
      if (other > nearestWeight || (other === nearestWeight && f1 > nearestF1)) {
        nearestWeight = other;
        nearestF1 = f1;
      }
    }
    all[i] = weight > 0 ? agreed / weight : 0;
    nearest[i] = nearestF1;
    opening[i] = weight > 0 ? begunAlike / weight : 0;
    consensus[i] = allVotes > 0 ? voted / allVotes : 0;
  }
  return { all, nearest, opening, consensus };
}

const finite = (weight: number): number => (Number.isFinite(weight) ? weight : 0);
