// The pass of learn over the split of bytes, where the configuration wants it learnt.
import { createMemoryWorth } from "../../operators/aggregate/memory.ts";
import { createPublishByteBudget, splitInForce } from "../../operators/publish/publish-byte-budget.ts";
import { measuredMs, stepOf } from "../../operators/solve/byte-budget.ts";
import { fixedSplit } from "../../config/sections/memory.ts";
import { learnByteBudget } from "./pipeline.ts";
import { BYTE_BUDGET } from "../../state/policies/byte-budget.ts";
import type { MarginTable } from "./cache-margins.ts";
import type { Learning } from "./helpfulness.ts";

/** caches: of arms whose chunk caches share the byte budget. */
export function byteBudgetPass(
  { session, policies: all, metrics, log }: Learning,
  caches: Pick<MarginTable, "of"> | undefined,
): () => Promise<boolean> {
  const { memory, curate } = session.config;
  const clock = Date.now;
  const policies = all.of(BYTE_BUDGET);
  const fixed = fixedSplit(session.config);
  const windowMs = measuredMs(memory.everyMs);
  // A budget is known too little for the next step until half of a look at it is over.
  const window = { windowMs, leastMs: Math.min(memory.everyMs, windowMs) / 2 };
  const worthOf = createMemoryWorth({
    clickhouse: session.clickhouse,
    costs: () => new Map(session.arms.routed().map(({ name, cost }) => [name, cost])),
    offloadQuality: curate.evict.offloadQuality,
    windowMs,
    caches: () => caches?.of(window) ?? new Map(),
    clock,
  });
  const pass = learnByteBudget.bind({
    async measure() {
      const before = splitInForce(policies, fixed);
      return { before, worth: await worthOf(before, stepOf(before, memory)) };
    },
    rules: memory,
    publish: createPublishByteBudget({ policies, fixed, clock }),
    observe: metrics.observe,
  });
  return async () => {
    const { published } = await pass();
    if (published === null) return false;
    metrics.sent("policies", 1);
    log.info({ policy: BYTE_BUDGET, version: published.version, ...published.metrics }, "published");
    return false;
  };
}
