import { pino } from "pino";
import { describe, expect, it } from "vitest";
import type { DailyTimes } from "../../algorithms/queueing/daily-times.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { findDue, keepSchedule, scheduledRunId, type DueRun } from "./schedule.ts";
import { ExampleReplayUnderWay } from "./replay.ts";

const schedule: DailyTimes = { times: ["03:00"], days: [], timeZone: "UTC" };
const three = Date.parse("2026-11-23T03:00:00Z");
const minute = 60_000;
const log = pino({ level: "silent" });

/** What example_replay_runs holds: an unfinished run, and ids that were begun. */
const clickhouseOf = (unfinished: DueRun[], begun: string[]): Pick<ClickHouse, "query"> => ({
  query: <Row>(sql: string, parameters?: Record<string, unknown>) =>
    Promise.resolve((sql.includes("state IN") ? unfinished : begun.filter((id) => id === parameters?.runId)) as Row[]),
});

describe("what is due", () => {
  const due = (at: number, unfinished: DueRun[] = [], begun: string[] = []) =>
    findDue(clickhouseOf(unfinished, begun), schedule, at);
  it("is a time of the schedule from that time on, ten minutes long, and once", async () => {
    const run = { runId: "scheduled-2026-11-23T03-00Z", dueAt: three };
    expect(await due(three - 1)).toBeUndefined();
    expect(await due(three)).toEqual(run);
    expect(await due(three + 9 * minute)).toEqual(run);
    expect(await due(three + 10 * minute)).toBeUndefined();
    expect(await due(three + minute, [], [run.runId])).toBeUndefined();
  });
  it("is first what was not finished", async () => {
    const left = { runId: scheduledRunId(three - 5 * minute), dueAt: three - 5 * minute };
    expect(await due(three, [left])).toEqual(left);
  });
});

describe("the schedule", () => {
  const keep = async (finds: (DueRun | undefined)[], run: (due: DueRun) => Promise<void>) => {
    const stop = new AbortController();
    const ran: string[] = [];
    await keepSchedule({
      ...{ schedule, clock: () => three - 1, signal: stop.signal, log, lookEveryMs: 1 },
      find: () => {
        if (finds.length === 0) stop.abort(new Error("enough"));
        return Promise.resolve(finds.shift());
      },
      run: (due) => {
        ran.push(due.runId);
        return run(due);
      },
    });
    return ran;
  };
  const one = { runId: "one", dueAt: three };
  it("runs what is due, and looks again", async () => {
    expect(await keep([undefined, one, undefined], () => Promise.resolve())).toEqual(["one"]);
  });
  it("tries again where another run was under way, and outlives one that failed", async () => {
    let tries = 0;
    const ran = await keep([one, one, one], () => {
      tries++;
      return tries === 1
        ? Promise.reject(new ExampleReplayUnderWay())
        : tries === 2
          ? Promise.reject(new Error("no arm"))
          : Promise.resolve();
    });
    expect(ran).toEqual(["one", "one", "one"]);
  });
});
