// The third verb of learn: a solved posterior becomes the next version of the router policy, unless it says what the newest says already,
// rests on too little, or learning is paused. Paused means: the newest version is a revert (revertOf). Somebody chose it on purpose, so nothing
// replaces it until `precedent policy resume`, which publishes the same body once more as a version of its own.
import type { Policy } from "../../schemas/types.ts";
import { decodeRouterPolicy, encodeRouterBody, ROUTER, ROUTER_KIND } from "../route/policy.ts";
import { sameArms, type Solved } from "../solve/solve.ts";
import type { PolicyLog } from "./policy-log.ts";

export interface PublishDependencies {
  policies: PolicyLog;
  featureVersion: number;
  /** Rewarded decisions that a version must rest on. */
  minimumRewards: number;
  /** Milliseconds since the epoch. */
  clock: () => number;
}

export type Published =
  | { outcome: "published"; policy: Policy }
  /** Nothing new, too few rewards, or a revert stands. */
  | { outcome: "same" | "few" | "paused" };

/** Rejects as PolicyLog does; the same call may be made again. */
export function createPublish({ policies, featureVersion, minimumRewards, clock }: PublishDependencies) {
  return async function publish(solved: Solved): Promise<Published> {
    if (solved.rewards < minimumRewards || solved.arms.size === 0) return { outcome: "few" };
    let decided: "same" | "paused" | null = judge(policies.newest(), solved);
    if (decided !== null) return { outcome: decided };
    const policy = await policies
      .append((version) => {
        // Becoming the writer may have shown a newer version than the one looked at above.
        decided = judge(policies.newest(), solved);
        if (decided !== null) throw new Overtaken();
        return {
          name: ROUTER,
          tenant: "default",
          version,
          kind: ROUTER_KIND,
          body: encodeRouterBody(solved.arms),
          reference: null,
          hash: null,
          featureVersion,
          trainedThrough: solved.trainedThrough,
          metrics: solved.metrics,
          revertOf: null,
          createdAt: clock(),
        };
      })
      .catch((error: unknown) => {
        if (error instanceof Overtaken) return null;
        throw error;
      });
    return policy === null ? { outcome: decided ?? "same" } : { outcome: "published", policy };
  };
}

class Overtaken extends Error {}

/** Why nothing is to be published over `newest`, or null. */
function judge(newest: Policy | null, solved: Solved): "same" | "paused" | null {
  if (newest === null) return null;
  if (newest.revertOf !== null) return "paused";
  const decoded = decodeRouterPolicy(newest);
  return "problem" in decoded || !sameArms(decoded.arms, solved.arms) ? null : "same";
}
