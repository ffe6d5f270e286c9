// The arm whose answer may be compared with the chosen one's.
import { drawIndex, type Random } from "../../algorithms/numeric/random.ts";
import type { Decision } from "../../schemas/types.ts";
import type { Scored } from "./score.ts";

/**
 * When the arms are nearly even: another arm, drawn in proportion to its probability among the
 * rest, whose answer could be compared. Never what reuses answers.
 */
export function second(
  scored: Scored | null,
  random: Random,
  reuse?: string,
): Pick<Decision, "secondArm" | "secondProbability"> {
  if (scored === null) return { secondArm: null, secondProbability: null };
  const weights = scored.scores.map(({ probability }, i) =>
    i === scored.chosen || scored.scores[i]!.arm === reuse ? 0 : probability,
  );
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (!(total > 0)) return { secondArm: null, secondProbability: null };
  const index = drawIndex(weights, random);
  return { secondArm: scored.scores[index]!.arm, secondProbability: weights[index]! / total };
}
