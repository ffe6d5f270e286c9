// Prior of the arms' weights, as plan and learn both need it (docs/design/routing.md, Prior).
import { constantPrior, priorPosterior, type Posterior, type Prior } from "../../algorithms/routing/bandit.ts";
import { FEATURE_COUNT, FEATURE_GROUP_OF, FEATURE_GROUPS } from "../../algorithms/routing/features.ts";
import { solveHierarchy, type Hierarchy } from "../../algorithms/routing/hierarchy.ts";

/** Mean on the constant feature, variance of constant and cost, variance of a reward's noise. */
export const firstGuess = { priorMean: 0.5, priorVariance: 0.04, noiseVariance: 0.1 };

export interface PriorConfig extends Partial<typeof firstGuess> {
  /** estimated: these are first guesses, and arms share what they have in common. Else fixed. */
  variances?: "estimated" | "fixed";
}

export interface RouterPrior {
  /** Prior of each arm alone. */
  each: Prior;
  /** What arms share, where variances are estimated. */
  hierarchy?: Hierarchy;
  /** Prior of an arm of which nothing is known. */
  unknown: Posterior;
}

/** First guesses of other weights' variances. Kinds say more than a text's figures. */
const slopeVariances = { question: 0.005, embedding: 0.005, examples: 0.02, form: 0.02 };

export function routerPrior(config: PriorConfig): RouterPrior {
  const { priorMean, priorVariance, noiseVariance, variances } = { ...firstGuess, ...config };
  const each = constantPrior(FEATURE_COUNT, priorMean, priorVariance, noiseVariance);
  if (variances !== "estimated") return { each, unknown: priorPosterior(each) };
  // Half of what an arm's mean may differ from the prior's is common to all arms.
  const half = FEATURE_GROUPS.map((group) => (group === "constant" ? priorVariance / 2 : slopeVariances[group]));
  const hierarchy = {
    mean: each.mean,
    groups: FEATURE_GROUP_OF,
    variances: { shared: half, own: half, noise: noiseVariance },
  };
  return { each, hierarchy, unknown: solveHierarchy([], hierarchy).unknown };
}
