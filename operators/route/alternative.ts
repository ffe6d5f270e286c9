// The arm whose answer may be compared with the chosen one's.
import { drawIndex, type Random } from "../../algorithms/numeric/random.ts";
import type { Decision } from "../../schemas/types.ts";
import type { Scored } from "./score.ts";

/** When arms are nearly even: another arm, by its probability among the rest. */
export function alternative(
  scored: Scored | null,
  random: Random,
  reuse?: string,
): Pick<Decision, "alternativeArm" | "alternativeProbability"> {
  if (scored === null) return { alternativeArm: null, alternativeProbability: null };
  const weights = scored.scores.map(({ probability }, i) =>
    i === scored.chosen || scored.scores[i]!.arm === reuse ? 0 : probability,
  );
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (!(total > 0)) return { alternativeArm: null, alternativeProbability: null };
  const index = drawIndex(weights, random);
  return { alternativeArm: scored.scores[index]!.arm, alternativeProbability: weights[index]! / total };
}
