// What a score of pairs is worth for reusing answers: how well it ranks, and how many requests can
// be answered while few of the answers are wrong. Pure.

export interface Ranked {
  /** Indices of the pairs, highest score first. */
  order: Int32Array;
  /** 1 where the score after it is another: ties are served together. */
  ends: Uint8Array;
}

export function ranked(scores: ArrayLike<number>): Ranked {
  const order = Int32Array.from({ length: scores.length }, (_, i) => i).sort(
    (a, b) => scores[b]! - scores[a]! || a - b,
  );
  const ends = Uint8Array.from(order, (index, at) => (scores[index] === scores[order[at + 1] ?? -1] ? 0 : 1));
  return { order, ends };
}

/** Chance that a pair that is the same has a higher score than one that is not, ties half. */
export function auc({ order, ends }: Ranked, same: Uint8Array, weights: Float64Array): number {
  let [above, sum, blockSame, blockOther] = [0, 0, 0, 0];
  let other = 0;
  for (let k = 0; k < order.length; k++) {
    const index = order[k]!;
    if (same[index] === 1) blockSame += weights[index]!;
    else blockOther += weights[index]!;
    if (ends[k] === 0) continue;
    // Same pairs so far stand above those of this block.
    sum += blockOther * (above + blockSame / 2);
    above += blockSame;
    other += blockOther;
    [blockSame, blockOther] = [0, 0];
  }
  return above > 0 && other > 0 ? sum / (above * other) : Number.NaN;
}

/** Largest share of the requests that a threshold serves with at most `wrong` of them wrong. */
export function hitsAt({ order, ends }: Ranked, same: Uint8Array, weights: Float64Array, wrong: number): number {
  let [served, bad, best, total] = [0, 0, 0, 0];
  for (let k = 0; k < order.length; k++) {
    const index = order[k]!;
    served += weights[index]!;
    if (same[index] === 0) bad += weights[index]!;
    if (ends[k] === 1 && served > 0 && bad <= wrong * served) best = served;
  }
  total = served;
  return total > 0 ? best / total : Number.NaN;
}

/** What a fixed threshold serves, and how much of that is wrong. */
export function atThreshold(
  scores: ArrayLike<number>,
  same: Uint8Array,
  threshold: number,
): { served: number; wrong: number | null } {
  let [served, bad] = [0, 0];
  for (let i = 0; i < scores.length; i++) {
    if (!(scores[i]! >= threshold)) continue;
    served++;
    if (same[i] === 0) bad++;
  }
  return { served: served / scores.length, wrong: served === 0 ? null : bad / served };
}
