// The pass of learn over reused answers, where an arm gives any.
import type { ReuseArmConfig } from "../../config/schema.ts";
import { createReuseTrials } from "../../operators/aggregate/reuse-trials.ts";
import { createPublishReuse } from "../../operators/publish/publish-reuse.ts";
import { learnReuse } from "./pipeline.ts";
import { REUSE } from "../../state/policies/reuse.ts";
import type { Learning } from "./helpfulness.ts";

/** Older verified cases do not count. */
const windowMs = 30 * 86_400_000;

export function reusePass({ session, policies: all, metrics, log }: Learning): () => Promise<boolean> {
  const clock = Date.now;
  const policies = all.of(REUSE);
  const arm = (): ReuseArmConfig | undefined => session.arms.configured().find((one) => one.type === "reuse");
  const trials = createReuseTrials({
    clickhouse: session.clickhouse,
    maxDeadlineMs: session.config.limits.maxDeadlineMs,
    clock,
  });
  const pass = learnReuse.bind({
    async cases() {
      const of = arm();
      if (of === undefined) return [];
      const { name, agreement, countFrom } = of;
      const from = countFrom === undefined ? 0 : Date.parse(countFrom);
      return trials({ arm: name, agreement, since: Math.max(0, from, clock() - windowMs) });
    },
    limits: () => arm() ?? { limit: 0 },
    publish: createPublishReuse({ policies, arm, clock }),
    observe: metrics.observe,
  });
  return async () => {
    if (arm() === undefined) return false;
    const { published } = await pass();
    if (published === null) return false;
    metrics.sent("policies", 1);
    const { domains_on: on, domains_off: off, alarms } = published.metrics;
    log.info({ policy: REUSE, version: published.version, on, off, alarms }, "published");
    return false;
  };
}
