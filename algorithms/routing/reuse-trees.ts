// Boosted trees as they are shipped, and their score. Pure.

export interface ReuseTree {
  /** Feature, threshold, next if not above, next if above: a split's number, or -1 - a leaf's. */
  splits: readonly number[];
  leaves: readonly number[];
}
export interface ReuseModel {
  /** Log odds before any tree. */
  base: number;
  trees: readonly ReuseTree[];
}

/** Score of a row of features (reuse-features.ts), [0, 1]. */
export function reuseScore(row: readonly number[], { base, trees }: ReuseModel): number {
  let odds = base;
  for (const { splits, leaves } of trees) {
    let at = splits.length === 0 ? -1 : 0;
    while (at >= 0) {
      const split = 4 * at;
      at = row[splits[split]!]! <= splits[split + 1]! ? splits[split + 2]! : splits[split + 3]!;
    }
    odds += leaves[-1 - at]!;
  }
  return 1 / (1 + Math.exp(-odds));
}
