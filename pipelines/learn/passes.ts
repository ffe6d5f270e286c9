// The passes of learn, each again and again in its own time, as long as this process has the lock.
import { lazily } from "../../connections/lazily.ts";
import type { PassHealth } from "../../runtime/pass-health.ts";
import { repeat, slowerMs } from "../../runtime/repeat.ts";
import { helpfulnessPass, thresholdPass, type Learning } from "./helpfulness.ts";
import { openJudgePass } from "./judge.ts";
import { routerPass } from "./router.ts";
import { longestTtlMs } from "../../config/sections/cache.ts";
import type { PlainProducer } from "../../connections/kafka/port.ts";
import { createRetract } from "../../operators/retract/retract.ts";
import type { Sent } from "../../runtime/declaration.ts";
import { retractAnswers, type learn, learnReuse } from "./pipeline.ts";
import type { ReuseArmConfig } from "../../config/schema.ts";
import { createReuseTrials } from "../../operators/aggregate/reuse-trials.ts";
import { createPublishReuse } from "../../operators/publish/publish-reuse.ts";
import { REUSE } from "../../state/policies/reuse.ts";

/** Reused answers are looked at every so many passes. */
const reusePasses = 5;

export interface OpenedPasses {
  /** Each ends when the signal is aborted. */
  loops: Promise<void>[];
  stop(): Promise<void>;
}

export function openPasses(
  learning: Learning,
  { health, signal }: { health: Pick<PassHealth, "of">; signal: AbortSignal },
): OpenedPasses {
  const { session, policies, log } = learning;
  const { cache, learn } = session.config;
  const { everyMs, helpfulness, judge } = learn;
  /** Before the first look: fences the predecessor and reads what was published. */
  const opening = lazily(() => policies.open());
  const opened = (pass: () => Promise<boolean>) => (): Promise<boolean> => opening.get().then(pass);
  const timing = { signal, log };
  const loops = [
    repeat(opened(routerPass(learning)), { ...timing, everyMs, health: health.of("router") }),
    repeat(opened(thresholdPass(learning)), {
      ...timing,
      everyMs: slowerMs(everyMs),
      health: health.of("threshold"),
    }),
    // No health check: a reuse arm that this pass does not verify is off within the hour
    // (state/policies/reuse.ts).
    repeat(opened(reusePass(learning)), { ...timing, everyMs: reusePasses * everyMs }),
  ];
  const producer = session.kafka.plainProducer();
  if (cache.enabled)
    loops.push(repeat(retractPass(learning, producer), { ...timing, everyMs, health: health.of("retract") }));
  if (helpfulness.everyHours !== undefined) {
    const hours = helpfulness.everyHours * 3_600_000;
    // Checked often, rarely due; a training that fails is not repeated at once.
    const pacing = { everyMs: Math.min(60_000, hours), maxBackoffMs: hours };
    loops.push(repeat(opened(helpfulnessPass(learning, hours)), { ...timing, ...pacing }));
  }
  // Not health's business: a judge that is away only waits.
  const { arm } = judge;
  const judging = lazily(() => openJudgePass(learning, producer, arm ?? "", signal));
  if (arm !== undefined)
    loops.push(repeat(async () => (await judging.get()).pass(), { ...timing, everyMs: slowerMs(everyMs) }));
  return {
    loops,
    async stop() {
      await Promise.all([producer.close(), judging.opened()?.then((one) => one.close())]);
    },
  };
}

/** Takes kept answers back that were rated badly; one tombstone too many changes nothing. */
function retractPass(
  { session, metrics, log }: Learning,
  producer: Pick<PlainProducer<Sent<typeof learn>>, "send">,
): () => Promise<boolean> {
  const { config, clickhouse, topic } = session;
  const pass = retractAnswers.bind({
    retract: createRetract({
      clickhouse,
      publish: (keys) => producer.send(keys.map((key) => ({ topic: topic("response-cache"), key, value: null }))),
      longestTtlMs: longestTtlMs(config.cache),
      clock: Date.now,
    }),
    observe: metrics.observe,
  });
  return async () => {
    const { retracted } = await pass();
    if (retracted > 0) {
      metrics.sent("response-cache", retracted);
      log.info({ answers: retracted }, "kept answers were rated badly: they are not given any more");
    }
    return false;
  };
}

/** Older verified cases do not count. */
const windowMs = 30 * 86_400_000;

function reusePass({ session, policies: all, metrics, log }: Learning): () => Promise<boolean> {
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
