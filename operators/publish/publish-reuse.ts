// Publishes error bounds of reused answers when changed, and now and then: silence means a dead
// learner. Paused by a revert; the arm is off an hour later.
import type { Policy } from "../../schemas/types.ts";
import { isPaused, type PolicyLog } from "../../state/policies/log.ts";
import { policyRecord } from "../../state/policies/record.ts";
import { encodeReuseBody, mostReuseDomains, REUSE, REUSE_KIND, reuseTimes } from "../../state/policies/reuse.ts";
import type { ErrorWatch } from "../../algorithms/routing/error-bound.ts";

export interface PublishReuseDependencies {
  policies: PolicyLog;
  /** The arm and its limit; undefined: there is none any more. */
  arm: () => { name: string; limit: number } | undefined;
  clock: () => number;
}

/** Rejects as PolicyLog does; null: nothing to publish, or paused. */
export function createPublishReuse({ policies, arm, clock }: PublishReuseDependencies) {
  return async function publishReuse(verified: ReadonlyMap<string, ErrorWatch>): Promise<Policy | null> {
    const of = arm();
    if (of === undefined || isPaused(policies)) return null;
    const { name, limit } = of;
    const largest = [...verified].sort(
      ([a, one], [b, other]) => other.counted.cases - one.counted.cases || (a < b ? -1 : a > b ? 1 : 0),
    );
    const domains = Object.fromEntries(
      largest
        .slice(0, mostReuseDomains)
        .map(([domain, { counted, bound, alarms }]) => [domain, { ...counted, bound, alarms }]),
    );
    const body = encodeReuseBody({ arm: name, limit, domains });
    const isNew = (): boolean => {
      const newest = policies.newest();
      return newest?.body !== body || clock() - newest.createdAt > reuseTimes.refreshMs;
    };
    if (!isNew()) return null;
    return policies.append((version) => {
      // Becoming the writer may have shown a newer version than the one looked at.
      if (!isNew() || isPaused(policies)) return null;
      const all = [...verified.values()];
      return policyRecord({
        ...{ name: REUSE, version, kind: REUSE_KIND, body },
        trainedThrough: clock(),
        metrics: {
          limit,
          domains_on: all.filter(({ bound }) => bound <= limit).length,
          domains_off: all.filter(({ bound }) => bound > limit).length,
          cases: all.reduce((sum, { counted }) => sum + counted.cases, 0),
          wrong: all.reduce((sum, { counted }) => sum + counted.wrong, 0),
          alarms: all.reduce((sum, { alarms }) => sum + alarms, 0),
        },
        createdAt: clock(),
      });
    });
  };
}
