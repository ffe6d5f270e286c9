// What --only caches measures. The policies are those advised for such prompts
// (docs/linked-prefill.md). Memory holds between a quarter and a half of the caches of a stream.
import type { BonusPlan } from "./bonus.ts";
import type { StreamPlan } from "./prefetch.ts";

export interface CachePlan {
  streams: readonly StreamPlan[];
  bonus: BonusPlan;
}

export const fullCachePlan: CachePlan = {
  streams: [
    { workload: "nl2bash-10", policy: "last-2", requests: 16, memoryMib: 40, waiting: 4, pairs: 3, answerTokens: 16 },
    {
      workload: "musique-512",
      policy: "attnlink-4",
      requests: 6,
      memoryMib: 200,
      waiting: 3,
      pairs: 3,
      answerTokens: 16,
    },
  ],
  bonus: { topics: 8, requests: 6, warmUp: 12, bonuses: [0, 0.02, 0.05] },
};

export const quickCachePlan: CachePlan = {
  streams: [
    { workload: "nl2bash-5", policy: "last-2", requests: 4, memoryMib: 8, waiting: 2, pairs: 1, answerTokens: 4 },
  ],
  bonus: { topics: 1, requests: 6, warmUp: 2, bonuses: [0, 0.05] },
};
