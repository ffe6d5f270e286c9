// The predicted chance that the answer to one question is the right one for another: boosted trees
// on reuse-features.ts (docs/arms.md, reuse). Pure.
import { canonicalContent } from "../text/canonical.ts";
import { reuseFeatures } from "./reuse-features.ts";
import { reuseModel } from "./reuse-model.ts";

/**
 * What decisions call the model of the arm: another version of features or trees is another arm to
 * the router.
 */
export const REUSE_MODEL = "reuse/1";

/** A tree: splits in fours, and what stands at its leaves. */
export interface ReuseTree {
  /**
   * Feature, threshold, and where to go on when the feature is not above it, and when it is: the
   * number of a split, or -1 - the number of a leaf. The first split is the root.
   */
  splits: readonly number[];
  leaves: readonly number[];
}
export interface ReuseModel {
  /** Log odds before any tree. */
  base: number;
  trees: readonly ReuseTree[];
}

/** [0, 1], of a row of features. */
export function reuseScore(row: readonly number[], { base, trees }: ReuseModel = reuseModel): number {
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

/**
 * At this similarity it is the same question; the pairs that the trees were fitted to have none.
 */
const sameQuestion = 0.99;
/** Marks of code: with other ones other code is asked for, which the trees know nothing of. */
const marks = /[<>=+*%&|^~@#$\\{}[\]]/g;
const marksOf = (text: string): string => (text.match(marks) ?? []).sort().join("");
/** At most, where the marks differ. */
const otherMarks = 0.5;

/** similarity: cosine of the embeddings of both, [-1, 1]. Symmetric in the two questions. */
export function reuseQuality(asked: string, kept: string, similarity: number): number {
  if (canonicalContent(asked) === canonicalContent(kept)) return sameQuestion;
  const score = reuseScore(reuseFeatures(asked, kept, similarity));
  return marksOf(asked) === marksOf(kept) ? score : Math.min(score, otherMarks);
}
