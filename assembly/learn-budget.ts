// The pass of learn over the split of bytes, where the configuration wants it learnt.
import { createMemoryWorth } from "../operators/aggregate/memory.ts";
import { createPublishBudget, splitInForce } from "../operators/publish/publish-budget.ts";
import { measuredMs, stepOf } from "../operators/solve/budget.ts";
import { fixedSplit } from "../config/sections/memory.ts";
import { learnBudget } from "../pipelines/learn.ts";
import { BUDGET } from "../policies/budget.ts";
import type { Learning } from "./learn-helpfulness.ts";

export function budgetPass({ session, policies: all, metrics, log }: Learning): () => Promise<boolean> {
  const { memory, curate } = session.config;
  const clock = Date.now;
  const policies = all.of(BUDGET);
  const fixed = fixedSplit(session.config);
  const worthOf = createMemoryWorth({
    clickhouse: session.clickhouse,
    costs: () => new Map(session.arms.routed().map(({ name, cost }) => [name, cost])),
    offloadQuality: curate.evict.offloadQuality,
    windowMs: measuredMs(memory.everyMs),
    clock,
  });
  const pass = learnBudget.bind({
    async measure() {
      const before = splitInForce(policies, fixed);
      return { before, worth: await worthOf(before, stepOf(before, memory)) };
    },
    rules: memory,
    publish: createPublishBudget({ policies, fixed, clock }),
    observe: metrics.observe,
  });
  return async () => {
    const { published } = await pass();
    if (published === null) return false;
    metrics.sent("policies", 1);
    log.info({ policy: BUDGET, version: published.version, ...published.metrics }, "published");
    return false;
  };
}
