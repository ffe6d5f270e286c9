// What policies in shadow would have chosen for the same request: of the same contexts, with the
// same biases, by chance of their own. Nothing of it touches the choice that is served: not its
// random numbers, and a shadow that fails is left out.
import type { Posterior } from "../../algorithms/routing/bandit.ts";
import { bloomHash } from "../../algorithms/numeric/bloom.ts";
import { requestKey } from "../../algorithms/identity/identity.ts";
import { drawIndex, splitmix64 } from "../../algorithms/numeric/random.ts";
import type { ArmScore, ShadowChoice } from "../../schemas/types.ts";
import type { Shadow } from "../../state/policies/shadow.ts";
import { beliefsOf } from "../../state/policies/router.ts";
import { choiceProbabilities, predicted, type Exploring } from "./score.ts";

export interface ShadowedDecision {
  requestId: string;
  tenant: string;
  /** Sharing domain. */
  domain: string;
  /** As they were scored for the choice. */
  scores: readonly ArmScore[];
  /** Prior of an arm that a policy does not know. */
  prior: Posterior;
  exploring: Exploring;
}

export function shadowChoices(shadows: readonly Shadow[], decision: ShadowedDecision): ShadowChoice[] {
  return shadows.flatMap((shadow) => {
    try {
      return [choiceOf(shadow, decision)];
    } catch {
      return [];
    }
  });
}

function choiceOf(
  { name, policy }: Shadow,
  { requestId, tenant, domain, scores, prior, exploring }: ShadowedDecision,
): ShadowChoice {
  const beliefs = beliefsOf(policy, tenant, domain);
  const looked = scores.map(({ arm, model, context, bias }) => ({
    ...predicted(beliefs, prior, { name: arm, model }, context),
    bias,
  }));
  const probabilities = choiceProbabilities(looked, exploring);
  // The same request gets the same choice, in whichever process.
  const random = splitmix64(bloomHash(`${name} ${requestKey(tenant, requestId)}`)[0]);
  const chosen = drawIndex(probabilities, random);
  return {
    policy: name,
    version: policy.version,
    arm: scores[chosen]!.arm,
    probability: probabilities[chosen]!,
    arms: scores.map(({ arm }, i) => {
      const { mean, deviation } = looked[i]!;
      return { arm, mean, deviation, probability: probabilities[i]! };
    }),
  };
}
