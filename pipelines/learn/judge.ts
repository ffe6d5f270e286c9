// What the automatic judge needs (learn.judge): the arms that it asks, and how busy the others are.
import type { Arm } from "../../arms/arm.ts";
import type { PlainProducer } from "../../connections/kafka/port.ts";
import { createJudgeMetrics } from "../../operators/judge/metrics.ts";
import { createCompare } from "../../operators/judge/compare.ts";
import { createJudgeUnrated } from "../../operators/judge/judge-unrated.ts";
import { readUnrated } from "../../operators/judge/unrated.ts";
import { judgeUnrated, type learn } from "./pipeline.ts";
import type { Sent } from "../../runtime/declaration.ts";
import { createJudgeAll } from "./judge-unrated.ts";
import { createOffPeak } from "../../state/off-peak.ts";
import { watchBusiestArm } from "../replay/load.ts";
import { traceJudge } from "./judge-tracing.ts";
import { tracedOpener } from "../arms.ts";
import type { Learning } from "./helpfulness.ts";

type Producer = Pick<PlainProducer<Sent<typeof learn>>, "send">;

/** Rejects when an arm can't be made, or on abort. */
export async function openJudgePass(
  { session, metrics, log }: Learning,
  producer: Producer,
  arm: string,
  signal: AbortSignal,
) {
  const { clickhouse, codec, topic, config } = session;
  const settings = { ...config.learn.judge, arm };
  const arms = createArmOpener({ session, log });
  try {
    const judge = await arms.open(arm);
    const reference = settings.reference === undefined ? undefined : await arms.open(settings.reference);
    const busiest = await watchBusiestArm(session, signal);
    const reported = createJudgeMetrics(session.metrics);
    const clock = Date.now;
    const judgeOne = createJudgeUnrated({
      judge: `${judge.arm.name}@${judge.arm.model}`,
      compare: createCompare({ arm: judge.arm, samples: settings.samples, clock }),
      ...{ reference, share: settings.share, clock },
    });
    const pass = judgeUnrated.bind({
      agenda: async () => {
        const agenda = await readUnrated(clickhouse, settings, clock());
        reported.due(agenda.items.length);
        return agenda;
      },
      judgeAll: createJudgeAll({
        clickhouse,
        gate: createOffPeak({
          ...{ load: busiest.load, limit: config.limits.offPeakLoad, mostMs: Infinity, now: () => performance.now() },
          onWait: (waits) => reported.waits(waits),
        }),
        judge: session.tracing === undefined ? judgeOne : traceJudge(judgeOne, session.tracing),
        publish: async (feedback) => {
          const value = codec.encode("feedback", feedback);
          await producer.send([{ topic: topic("feedback"), key: feedback.requestId, value }]);
          metrics.sent("feedback", 1);
        },
        ...{ spendLimit: settings.spendLimit, metrics: reported, signal },
      }),
      observe: metrics.observe,
    });
    return {
      async pass(): Promise<boolean> {
        const { judged, spent } = await pass();
        if (judged > 0) log.info({ judged, cost: spent.cost }, "unrated answers were judged");
        return false;
      },
      async close(): Promise<void> {
        await Promise.all([arms.closeAll(), busiest.stop()]);
      },
    };
  } catch (error) {
    await arms.closeAll();
    throw error;
  }
}

/** Arms by name, opened for the judge alone. */
function createArmOpener({ session, log }: Pick<Learning, "session" | "log">) {
  const opened: Arm[] = [];
  return {
    /** Rejects when no such arm is configured, or it can't be made. */
    async open(name: string) {
      const configured = session.arms.configured().find((one) => one.name === name);
      if (configured === undefined) throw new Error(`learn.judge: there is no arm "${name}" any more`);
      const arm = await tracedOpener(session.tracing)(configured, { log });
      opened.push(arm);
      return { arm, template: configured.template, system: configured.system };
    },
    closeAll: () => Promise.allSettled(opened.map((one) => one.close())),
  };
}
