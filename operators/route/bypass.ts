// The choice without a policy, or without features that can be used.
import type { ArmScore } from "../../schemas/types.ts";
import { firstGuess } from "../../state/policies/prior.ts";
import type { Contender, Scored } from "./score.ts";

/** The default arm. Contexts with NaN are not logged. */
export function bypass(
  contenders: readonly Contender[],
  routing: { defaultArm?: string | undefined },
  usable: boolean,
): Scored {
  const wanted = contenders.findIndex(({ arm }) => arm.name === routing.defaultArm);
  const chosen = Math.max(0, wanted);
  const scores = contenders.map(({ arm, context, examples, trial }, i): ArmScore => {
    const { name, model, cost } = arm;
    const mean = firstGuess.priorMean;
    const probability = i === chosen ? 1 : 0;
    return {
      arm: name,
      model,
      cost,
      context: usable ? context : [],
      mean,
      deviation: 0,
      sampled: mean,
      bias: 0,
      saturation: 0,
      probability,
      examples,
      trial,
    };
  });
  return { scores, loadFree: scores.map(({ probability }) => probability), chosen };
}
