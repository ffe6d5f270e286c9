// Publishes a chosen router policy and pauses learning. Refuses if another came since.
import type { Policy } from "../../schemas/types.ts";
import { appendOnce, type Policies } from "./append.ts";
import { ROUTER } from "./router.ts";

export interface Promotion {
  /** What is published: an old version, or a proposal that has none (version 0). */
  policy: Policy;
  /** The newest version when the choice was made; 0: none was published. */
  against: number;
  now: number;
}

/** The record that was published. A proposal is marked as the repetition of itself. */
export async function promotePolicy(policies: Policies, { policy, against, now }: Promotion): Promise<Policy> {
  return appendOnce(policies, ROUTER, (version, current) => {
    const newest = current?.version ?? 0;
    if (newest !== against)
      throw new Error(
        `${ROUTER} ${newest} was published meanwhile, and the comparison was with ${against}: compare again`,
      );
    const revertOf = policy.version === 0 ? version : policy.version;
    return { ...policy, name: ROUTER, version, revertOf, createdAt: now };
  });
}
