// To which arms another policy would have sent the logged requests: by its probabilities on their
// decisions, which off-policy evaluation computes.
import { requestKey } from "../../algorithms/identity/identity.ts";
import { drawIndex, type Random } from "../../algorithms/numeric/random.ts";
import { readLog, type ReadOptions } from "../off-policy/read.ts";
import type { Target } from "../off-policy/target.ts";

export interface Shares {
  /** Names of arms; probabilities hold places in it. */
  arms: readonly string[];
  /** Mean probability of each arm. */
  mean: number[];
  decisions: number;
  /** Draws an arm for a request; undefined: its decision says nothing of the policy. */
  draw(tenant: string, id: string, random: Random): number | undefined;
}

export async function sharesOf(
  target: Target,
  options: Omit<ReadOptions, "targets" | "correctFeedback">,
): Promise<Shares> {
  // Decisions without feedback are decisions, too.
  const { log, targets, of } = await readLog({ ...options, targets: [target], correctFeedback: "all" });
  const probability = targets[0]!;
  const places = new Map(of.requestId.map((id, i) => [requestKey(of.tenant[i]!, id), i]));
  const decisions = of.requestId.length;
  const mean = log.arms.map(() => 0);
  for (const [k, p] of probability.entries()) mean[log.arm[k]!] = mean[log.arm[k]!]! + p / decisions;
  return {
    ...{ arms: log.arms, mean, decisions },
    draw(tenant, id, random) {
      const chance = random();
      const i = places.get(requestKey(tenant, id));
      if (i === undefined) return undefined;
      const from = log.start[i]!;
      const weights = Array.from(probability.subarray(from, log.start[i + 1]));
      return log.arm[from + drawIndex(weights, () => chance)]!;
    },
  };
}
