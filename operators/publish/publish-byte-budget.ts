// Publishes the split of the bytes for answers, examples and chunk caches when a step of them
// moves; paused by a revert as every policy is.
import type { Policy } from "../../schemas/types.ts";
import {
  BYTE_BUDGET,
  type ByteBudgetBody,
  decodeByteBudgetPolicy,
  encodeByteBudget,
  sameByteBudget,
} from "../../state/policies/byte-budget.ts";
import { isPaused, type PolicyLog } from "../../state/policies/log.ts";
import { policyRecord } from "../../state/policies/record.ts";
import { cachesOf, type ByteBudgetSplit, type MemoryWorth } from "../learnt.ts";

/** The split of the newest version; the fixed one where there is none that can be used. */
export function splitInForce(policies: Pick<PolicyLog, "newest">, fixed: ByteBudgetBody): ByteBudgetBody {
  const newest = policies.newest();
  const decoded = newest === null ? null : decodeByteBudgetPolicy(newest, fixed);
  return decoded === null || "problem" in decoded ? fixed : decoded;
}

export interface PublishByteBudgetDependencies {
  policies: PolicyLog;
  fixed: ByteBudgetBody;
  clock: () => number;
}

/** Rejects as PolicyLog does; null: nothing moves, or paused. */
export function createPublishByteBudget({ policies, fixed, clock }: PublishByteBudgetDependencies) {
  return async function publishByteBudget({ before, split, moved, worth }: ByteBudgetSplit): Promise<Policy | null> {
    if (moved.from === null || isPaused(policies)) return null;
    return policies.append((version) => {
      // Becoming the writer may have shown a newer version than the one decided about.
      const now = splitInForce(policies, fixed);
      if (!sameByteBudget(now, before) || isPaused(policies)) return null;
      return policyRecord({
        ...{ name: BYTE_BUDGET, version, ...encodeByteBudget(split) },
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

function cacheMetrics({ caches }: ByteBudgetBody, worth: MemoryWorth): Record<string, number> {
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
