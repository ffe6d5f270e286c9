// The predicted chance that the answer to one question is the right one for another: boosted trees
// on reuse-features.ts, fitted to 15,000 pairs of questions that people marked as the same or not
// (docs/arms.md, reuse). `npm run bench -- reuse --only model` writes them. Pure.
import { canonicalContent } from "../text/canonical.ts";
import { reuseFeatures } from "./reuse-features.ts";
import reuseModel from "./reuse-model.json" with { type: "json" };
import { reuseScore } from "./reuse-trees.ts";

/** The arm's model in decisions: other features or trees are another arm to the router. */
export const REUSE_MODEL = "reuse/1";

/** From here on questions are identical; the trees were fitted to pairs below. */
const sameQuestion = 0.99;
/** Marks of code: with other ones other code is asked for, which the trees know nothing of. */
const marks = /[<>=+*%&|^~@#$\\{}[\]]/g;
const marksOf = (text: string): string => (text.match(marks) ?? []).sort().join("");
/** At most, where the marks differ. */
const otherMarks = 0.5;

/** similarity: cosine of the embeddings of both, [-1, 1]. Symmetric in the two questions. */
export function reuseQuality(asked: string, kept: string, similarity: number): number {
  if (canonicalContent(asked) === canonicalContent(kept)) return sameQuestion;
  const score = reuseScore(reuseFeatures(asked, kept, similarity), reuseModel);
  return marksOf(asked) === marksOf(kept) ? score : Math.min(score, otherMarks);
}
