// Schedule of example replay runs (curate.exampleReplay.schedule). Each time is one run by id,
// begun by the lock's holder at most ten minutes late, and continued after a crash.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { lastTime, nextTime, type DailyTimes } from "../../algorithms/queueing/daily-times.ts";
import type { Config } from "../../config/schema.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { runLapsesMs } from "./runs.ts";
import { ExampleReplayUnderWay } from "./replay.ts";

export interface DueRun {
  runId: string;
  dueAt: number;
}

export function scheduleOf({ curate }: Pick<Config, "curate">): DailyTimes | undefined {
  const { schedule } = curate.exampleReplay;
  return schedule === undefined ? undefined : { ...schedule, days: schedule.days ?? [] };
}

/** scheduled-2026-11-23T03-00Z */
export const scheduledRunId = (dueAt: number): string =>
  `scheduled-${new Date(dueAt).toISOString().slice(0, 16).replace(":", "-")}Z`;

const selectUnfinished = `
  SELECT run_id AS runId, toUnixTimestamp64Milli(assumeNotNull(due_at)) AS dueAt FROM example_replay_runs FINAL
  WHERE cause = 'schedule' AND state IN ('running', 'waiting', 'interrupted')
    AND updated_at > fromUnixTimestamp64Milli({since:Int64}, 'UTC')
  ORDER BY due_at LIMIT 1`;

/** What is to be run now, if anything. Rejects as the ClickHouse port does. */
export async function findDue(
  clickhouse: Pick<ClickHouse, "query">,
  schedule: DailyTimes,
  now: number,
): Promise<DueRun | undefined> {
  const since = now - runLapsesMs;
  const [unfinished] = await clickhouse.query<DueRun>(selectUnfinished, { since });
  if (unfinished !== undefined) return unfinished;
  const dueAt = lastTime(schedule, since, now);
  if (dueAt === undefined) return undefined;
  const runId = scheduledRunId(dueAt);
  const begun = await clickhouse.query("SELECT 1 FROM example_replay_runs WHERE run_id = {runId:String} LIMIT 1", {
    runId,
  });
  return begun.length > 0 ? undefined : { runId, dueAt };
}

export interface ScheduleDependencies {
  schedule: DailyTimes;
  find: (now: number) => Promise<DueRun | undefined>;
  run: (due: DueRun) => Promise<void>;
  clock: () => number;
  signal: AbortSignal;
  log: Logger;
  /** Between two looks at most, and after a run that could not be. */
  lookEveryMs?: number;
}

/** Until the signal is aborted; rejects when it can't be found out what is due. */
export async function keepSchedule(dependencies: ScheduleDependencies): Promise<void> {
  const { schedule, find, run, clock, signal, log, lookEveryMs = 30_000 } = dependencies;
  const wait = (ms: number): Promise<unknown> => sleep(ms, undefined, { signal }).catch(() => undefined);
  while (!signal.aborted) {
    const now = clock();
    const due = await find(now);
    if (due === undefined) {
      await wait(Math.min(lookEveryMs, Math.max(1, nextTime(schedule, now) - now)));
      continue;
    }
    try {
      await run(due);
    } catch (error) {
      if (signal.aborted) return;
      const held = error instanceof ExampleReplayUnderWay;
      log[held ? "info" : "error"]({ err: error, ...due }, "the scheduled example replay run did not get to its end");
      await wait(lookEveryMs);
    }
  }
}
