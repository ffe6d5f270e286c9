// Publishes the split of the bytes for answers and examples when a step of them moves; paused by a
// revert as every policy is.
import type { Policy } from "../../schemas/types.ts";
import { BUDGET, BUDGET_KIND, type BudgetBody, decodeBudgetPolicy, encodeBudgetBody } from "../../policies/budget.ts";
import { isPaused, type PolicyLog } from "../../policies/log.ts";
import { policyRecord } from "../../policies/record.ts";
import type { BudgetSplit } from "../learnt.ts";

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
      if (now.responses !== before.responses || isPaused(policies)) return null;
      return policyRecord({
        ...{ name: BUDGET, version, kind: BUDGET_KIND, body: encodeBudgetBody(split) },
        ...{ trainedThrough: clock(), createdAt: clock() },
        metrics: {
          ...{ responses: split.responses, examples: split.examples, saved: moved.saved },
          ...{ "gain.responses": worth.responses.gain, "loss.responses": worth.responses.loss },
          ...{ "gain.examples": worth.examples.gain, "loss.examples": worth.examples.loss },
        },
      });
    });
  };
}
