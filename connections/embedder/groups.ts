// Divides the texts of a batch by length, so that little of what is computed is padding.

/** What a call of the model costs besides its tokens, in tokens: measured for int8 and float32. */
const callTokens = 16;

/**
 * Groups of indices that together cost least, where a group costs one call, and each of its texts
 * as many tokens as the longest. Quadratic in the texts of a batch.
 */
export function groupByLength(lengths: readonly number[]): number[][] {
  const order = lengths.map((_, i) => i).sort((one, other) => lengths[one]! - lengths[other]!);
  /** By how many of the shortest are grouped: the least cost, and where its last group begins. */
  const best = [{ cost: 0, from: 0 }];
  for (let end = 1; end <= order.length; end++) {
    const longest = lengths[order[end - 1]!]!;
    let least = { cost: Infinity, from: 0 };
    for (let from = 0; from < end; from++) {
      const cost = best[from]!.cost + callTokens + (end - from) * longest;
      if (cost < least.cost) least = { cost, from };
    }
    best.push(least);
  }
  const groups: number[][] = [];
  for (let end = order.length; end > 0; end = best[end]!.from) groups.push(order.slice(best[end]!.from, end));
  return groups;
}
