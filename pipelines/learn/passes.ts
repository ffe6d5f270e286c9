// The passes of learn, each again and again in its own time, as long as this process has the lock.
import { lazily } from "../../connections/lazily.ts";
import type { PassHealth } from "../../runtime/pass-health.ts";
import { repeat, slowerMs } from "../../runtime/repeat.ts";
import { helpfulnessPass, thresholdPass, type Learning } from "./helpfulness.ts";
import { openJudgePass } from "./judge.ts";
import { retractPass } from "./retract.ts";
import { reusePass } from "./reuse.ts";
import { routerPass } from "./router.ts";

/** Reused answers are looked at every so many passes. */
const reusePasses = 5;

export function openPasses(
  learning: Learning,
  { health, signal }: { health: Pick<PassHealth, "of">; signal: AbortSignal },
) {
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
    /** Each ends when the signal is aborted. */
    loops,
    async stop(): Promise<void> {
      await Promise.all([producer.close(), judging.opened()?.then((one) => one.close())]);
    },
  };
}
