// Scheduled example replays, in every curate process: one holds the lock (group
// `example-replay.schedule`), and each run takes the manual runs' lock.
import { exampleReplay } from "./pipeline.ts";
import { createSingleton } from "../../runtime/singleton.ts";
import { findDue, keepSchedule, type DueRun } from "./schedule.ts";
import type { DailyTimes } from "../../algorithms/queueing/daily-times.ts";
import { groupName, type RunningStage } from "../../runtime/running-stage.ts";
import { openJudge, startExampleReplay } from "./start.ts";
import type { Session } from "../session.ts";

export async function startScheduledExampleReplays(
  session: Session,
  instance: string,
  schedule: DailyTimes,
): Promise<RunningStage> {
  const { config, kafka, clickhouse, topic } = session;
  const { judge: who = "", top, samples, budgetTokens, budgetCost = Infinity } = config.curate.exampleReplay;
  const log = session.log.child({ stage: exampleReplay.name });
  const group = `${groupName(config.kafka.prefix, exampleReplay.name)}.schedule`;

  const run = async ({ runId, dueAt }: DueRun, signal: AbortSignal): Promise<void> => {
    const judge = await openJudge(who, { arms: session.arms.configured(), folder: process.cwd(), log });
    log.info({ runId }, "a scheduled example replay run begins");
    try {
      const { tried, outcomes, ended, waitedMs } = await startExampleReplay(session, {
        ...{ runId, dueAt, judge: judge.judge, top, samples, signal },
        budget: { tokens: budgetTokens, cost: budgetCost },
        onWait: ({ waits, load }) => log.info({ runId, load }, waits ? "waits for a lower load" : "goes on"),
      });
      log.info({ runId, tried, outcomes, ended, waitedMs }, "the scheduled example replay run has ended");
    } finally {
      await judge.close();
    }
  };

  const singleton = createSingleton({
    group,
    topic: topic("locks"),
    instance,
    sessionTimeoutMs: config.kafka.sessionTimeoutMs,
    transactionalId: `${group}.writer`,
    // The run itself publishes.
    outputs: [],
    kafka,
    log,
    task: ({ signal }) =>
      keepSchedule({
        ...{ schedule, clock: Date.now, signal, log },
        find: (now) => findDue(clickhouse, schedule, now),
        run: (due) => run(due, signal),
      }),
  });
  await singleton.start();
  return { name: exampleReplay.name, health: singleton.health, stop: singleton.stop };
}
