// Publishes the split of the bytes for answers, examples and chunk caches when a step of them
// moves; paused by a revert as every policy is.
import type { Policy } from "../../schemas/types.ts";
import { BUDGET, type BudgetBody, decodeBudgetPolicy, encodeBudget, sameBudget } from "../../state/policies/budget.ts";
import { isPaused, type PolicyLog } from "../../state/policies/log.ts";
import { policyRecord } from "../../state/policies/record.ts";
import { cachesOf, type BudgetSplit, type MemoryWorth } from "../learnt.ts";

/** The split of the newest version; the fixed one where there is none that can be used. */
export function splitInForce(policies: Pick<PolicyLog, "newest">, fixed: BudgetBody): BudgetBody {
  const newest = policies.newest();
  const decoded = newest === null ? null : decodeBudgetPolicy(newest, fixed);
  return decoded === null || "problem" in decoded ? fixed : decoded;
}

export interface PublishBudgetDependencies {
  policies: PolicyLog;
  fixed: BudgetBody;
  clock: () => number;
}

/** Rejects as PolicyLog does; null: nothing moves, or paused. */
export function createPublishBudget({ policies, fixed, clock }: PublishBudgetDependencies) {
  return async function publishBudget({ before, split, moved, worth }: BudgetSplit): Promise<Policy | null> {
    if (moved.from === null || isPaused(policies)) return null;
    return policies.append((version) => {
      // Becoming the writer may have shown a newer version than the one decided about.
      const now = splitInForce(policies, fixed);
      if (!sameBudget(now, before) || isPaused(policies)) return null;
      return policyRecord({
        ...{ name: BUDGET, version, ...encodeBudget(split) },
        ...{ trainedThrough: clock(), createdAt: clock() },
        metrics: {
          ...{ responses: split.responses, examples: split.examples, saved: moved.saved },
          ...{ "gain.responses": worth.responses.gain, "loss.responses": worth.responses.loss },
          ...{ "gain.examples": worth.examples.gain, "loss.examples": worth.examples.loss },
          ...cacheMetrics(split, worth),
        },
      });
    });
  };
}

function cacheMetrics({ caches }: BudgetBody, worth: MemoryWorth): Record<string, number> {
  const all: Record<string, number> = {};
  for (const [arm, bytes] of Object.entries(caches)) {
    all[cachesOf(arm)] = bytes;
    const known = worth.caches[arm];
    if (known === undefined) continue;
    all[`gain.${cachesOf(arm)}`] = known.gain;
    all[`loss.${cachesOf(arm)}`] = known.loss;
  }
  return all;
}
