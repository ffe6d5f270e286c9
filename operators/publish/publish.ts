// Third verb of learn: publishes the router policy, unless nothing or hardly anything changed, it
// rests on too little, or the newest version is a revert: then until `precedent policy resume`,
// which publishes the same body as a version of its own.
import type { Policy } from "../../schemas/types.ts";
import {
  allArms,
  decodeRouterPolicy,
  encodeRouterBody,
  ROUTER,
  ROUTER_KIND,
  sameArms,
} from "../../state/policies/router.ts";
import type { Solved } from "../learnt.ts";
import type { PolicyLog } from "../../state/policies/log.ts";
import { policyRecord } from "../../state/policies/record.ts";

export interface PublishDependencies {
  policies: PolicyLog;
  featureVersion: number;
  /** Smaller changes wait until the newest version is this old, ms. */
  settleMs: number;
  /** Whether a reward was withdrawn since (ms): a version may then rest on too little. */
  takenBack?: (since: number) => Promise<boolean>;
  clock: () => number;
}

export type Published =
  | { outcome: "published"; policy: Policy }
  /** Nothing new, too few rewards, too little new to be told yet, or a revert stands. */
  | { outcome: "few" | Unpublished };

type Unpublished = "same" | "soon" | "paused";

/** Share of the rewards from which a change is published at once. */
const notable = 0.01;

/** Rejects as PolicyLog does; the same call may be made again. */
export function createPublish(dependencies: PublishDependencies) {
  const { policies, featureVersion, settleMs, takenBack = () => Promise.resolve(false), clock } = dependencies;

  /** Why nothing is to be published over `newest`, or null. */
  const decide = (newest: Policy | null, solved: Solved): Unpublished | null => {
    if (newest === null) return null;
    if (newest.revertOf !== null) return "paused";
    const decoded = decodeRouterPolicy(newest);
    if ("problem" in decoded) return null;
    const [before, now] = [allArms(decoded), allArms(solved)];
    // Tenants who share nothing from now on, or everything, need a version that says so.
    if ((decoded.tenants === undefined) !== (solved.tenants === undefined)) return null;
    if (sameArms(before, now)) return "same";
    const change = changedShare(before, now);
    return change < notable && clock() - newest.createdAt < settleMs ? "soon" : null;
  };

  /** Whether the newest version knows something, and rests on what was withdrawn. */
  const restsOnWithdrawn = async (newest: Policy | null): Promise<boolean> => {
    const decoded = newest === null ? null : decodeRouterPolicy(newest);
    if (newest === null || decoded === null || "problem" in decoded || allArms(decoded).size === 0) return false;
    return takenBack(newest.createdAt);
  };

  return async function publish(known: Solved): Promise<Published> {
    const few = known.rewards === 0 || allArms(known).size === 0;
    if (few && !(await restsOnWithdrawn(policies.newest()))) return { outcome: "few" };
    // As before anything was learnt.
    const { rewards, metrics, problems, tenants } = known;
    const empty: Solved = { arms: new Map(), rewards, metrics, problems, trainedThrough: null };
    const solved: Solved = few ? { ...empty, ...(tenants && { tenants: new Map() }) } : known;
    let decided: Unpublished | null = decide(policies.newest(), solved);
    if (decided !== null) return { outcome: decided };
    const policy = await policies.append((version) => {
      // Becoming the writer may have shown a newer version than the one looked at above.
      decided = decide(policies.newest(), solved);
      if (decided !== null) return null;
      return policyRecord({
        name: ROUTER,
        version,
        kind: ROUTER_KIND,
        body: encodeRouterBody(solved),
        featureVersion,
        trainedThrough: solved.trainedThrough,
        metrics: solved.metrics,
        createdAt: clock(),
      });
    });
    return policy === null ? { outcome: decided ?? "same" } : { outcome: "published", policy };
  };
}

type Arms = Solved["arms"];

/** Changed share of the arms' weights; 1 for other arms or models. */
function changedShare(before: Arms, now: Arms): number {
  const same = before.size === now.size && [...now].every(([arm, { model }]) => before.get(arm)?.model === model);
  if (!same) return 1;
  const all = [...now.values()].reduce((sum, { count }) => sum + count, 0);
  const change = [...now].reduce((sum, [arm, { count }]) => sum + Math.abs(count - (before.get(arm)?.count ?? 0)), 0);
  return change / all;
}
