// Differentially private ranking of public candidates: private texts vote for the nearest, counts
// get Gaussian noise (Lin et al. 2024; Xie et al. 2024, algorithm 1). Pure.
import { dot } from "../selection/embedding.ts";

/** Votes per candidate; vectors of unit length. The first of equally near ones gets the vote. */
export function votesOf(texts: Iterable<Float32Array>, candidates: readonly Float32Array[]): Float64Array {
  const votes = new Float64Array(candidates.length);
  if (candidates.length === 0) return votes;
  for (const text of texts) {
    let nearest = 0;
    let most = -Infinity;
    candidates.forEach((candidate, i) => {
      const similarity = dot(text, candidate);
      if (similarity > most) [nearest, most] = [i, similarity];
    });
    votes[nearest]! += 1;
  }
  return votes;
}

/** Pure noise exceeds this many standard deviations once in 44 counts. */
const threshold = 2;

/**
 * `count` seats in proportion to noisy votes above the threshold, best first; where none is above,
 * those with the most. `normal` must draw from a secure source, or the noise hides nothing.
 */
export function seatsByVotes(
  votes: Float64Array,
  { count, deviation, normal }: { count: number; deviation: number; normal: () => number },
): number[] {
  const noisy = votes.map((value) => value + deviation * normal());
  const ranked = [...noisy.keys()].sort((a, b) => noisy[b]! - noisy[a]! || a - b);
  const weights = ranked.map((i) => Math.max(0, noisy[i]! - threshold * deviation));
  const sum = weights.reduce((all, weight) => all + weight, 0);
  if (sum === 0) return ranked.slice(0, count);
  // Systematic sampling: each candidate's count differs from its share by less than one.
  const seats: number[] = [];
  let passed = 0;
  ranked.forEach((candidate, rank) => {
    passed += weights[rank]!;
    while (seats.length < count && seats.length + 0.5 <= (count * passed) / sum) seats.push(candidate);
  });
  return seats;
}
