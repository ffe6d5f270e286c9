// precedent examples replay show: the runs, or what one did, cost, and saved since.
import type { Command } from "commander";
import { nextTime } from "../algorithms/queueing/daily-times.ts";
import { enoughExampleReplays, savingHours } from "../algorithms/routing/example-replay-cut-off.ts";
import type { CutOff } from "../operators/example-replay/agenda.ts";
import { CommandError, type Io } from "./io.ts";
import { scheduleOf } from "../pipelines/replay/schedule.ts";
import { configOf } from "./options.ts";
import { ago, jsonLines, oneLine, tableOf, withClickHouse } from "./reading.ts";

export function addShowingExampleReplays(replay: Command, io: Io): void {
  replay
    .command("show")
    .description("the runs, or what one of them did and what it saved since")
    .argument("[run]", "its id")
    .option("--json", "one object a line")
    .action(async (run: string | undefined, { json }: { json?: boolean }, command: Command) => {
      const rows = await withClickHouse(command, io, (clickhouse) =>
        clickhouse.query<Record<string, string | number | null>>(run === undefined ? selectRuns : selectRun, {
          run: run ?? "",
        }),
      );
      if (run !== undefined && rows.length === 0)
        throw new CommandError(`no example replay of a run ${run} is recorded`);
      const [first] = rows;
      if (json === true) io.out(jsonLines(rows));
      else if (first === undefined) io.out("no example replays yet\n");
      else
        io.out(
          tableOf(
            Object.keys(first),
            rows.map((row) =>
              Object.values(row).map((value) => (typeof value === "string" ? oneLine(value) : (value ?? "-"))),
            ),
          ),
        );
      // Standard output is the table alone.
      if (run === undefined) io.note(`${describeNext(configOf(command, io).config, Date.now())}\n`);
    });
}

export function describeNext(config: Parameters<typeof scheduleOf>[0], now: number): string {
  const schedule = scheduleOf(config);
  if (schedule === undefined) return "no run by itself: curate.exampleReplay.schedule is not set";
  const next = nextTime(schedule, now);
  return `next run by itself: ${new Date(next).toISOString()}, in ${ago(next - now)} (${schedule.times.join(", ")} ${schedule.timeZone})`;
}

// spent and saved are in average answers of an arm of cost 1. Runs from before there were records
// of runs have no state.
const selectRuns = `
  SELECT run.run_id AS run, run.began AS began,
    if(run.state IN ('running', 'waiting') AND run.updated_at < now64(3) - INTERVAL 2 MINUTE, 'stopped', run.state) AS state, run.cause AS cause,
    round(run.waited_ms / 1000) AS waited_s, tried.tried AS tried, tried.replaced AS replaced, tried.bettered AS bettered,
    tried.tokens AS tokens, tried.cost AS cost, tried.spent AS spent, saved.saved AS saved, run.problem AS problem
  FROM (
    SELECT one.run_id AS run_id, toString(min(one.began_at)) AS began, argMax(one.state, one.updated_at) AS state,
      argMax(one.cause, one.updated_at) AS cause, argMax(one.waited_ms, one.updated_at) AS waited_ms,
      argMax(one.problem, one.updated_at) AS problem, max(one.updated_at) AS updated_at
    FROM (
      SELECT run_id, began_at, state, cause, waited_ms, problem, updated_at FROM example_replay_runs FINAL
      UNION ALL
      SELECT run_id, min(created_at), '-', 'hand', 0, '', toDateTime64(0, 3, 'UTC') FROM example_replays GROUP BY run_id
    ) AS one GROUP BY run_id
  ) AS run
  GLOBAL LEFT JOIN (
    SELECT run_id, count() AS tried, countIf(outcome = 'replaced') AS replaced,
      round(sumIf(new_quality - old_quality, outcome = 'replaced'), 3) AS bettered, sum(tokens) AS tokens, round(sum(cost), 6) AS cost,
      round(sum(relative_cost), 2) AS spent
    FROM example_replays FINAL GROUP BY run_id
  ) AS tried ON tried.run_id = run.run_id
  GLOBAL LEFT JOIN (SELECT run_id, round(sum(saved), 2) AS saved FROM example_replay_savings GROUP BY run_id) AS saved ON saved.run_id = run.run_id
  ORDER BY began DESC LIMIT 100`;
const selectRun = `
  SELECT tried.example AS example, attempt, outcome, old, new, gain, tokens, cost, spent, replaced_by, uses_before, uses_after, saved
  FROM (
    SELECT example_id AS example, attempt, outcome, round(old_quality, 3) AS old, round(new_quality, 3) AS new, round(gain, 4) AS gain, tokens,
      round(cost, 6) AS cost, round(relative_cost, 2) AS spent, substring(ifNull(new_example_id, ''), 1, 12) AS replaced_by, created_at
    FROM example_replays FINAL WHERE run_id = {run:String}
  ) AS tried
  GLOBAL LEFT JOIN (
    SELECT example_id, attempt, uses_before, uses_after, round(saved, 3) AS saved FROM example_replay_savings WHERE run_id = {run:String}
  ) AS since ON since.example_id = tried.example AND since.attempt = tried.attempt
  ORDER BY created_at, example`;

export function describeCutOff({ gain, from, replays, cost }: CutOff): string {
  const least = Number.isFinite(gain) ? `gain ${gain.toPrecision(2)}` : "no gain seen so far is worth it";
  const why = {
    prior: `by default, until there are ${enoughExampleReplays} past replays of at least a day, ${replays} so far`,
    "past replays": `from what ${replays} past replays saved`,
    given: "as asked",
  }[from];
  return `cut-off: ${least} (${why}); a replay costs ${cost.toPrecision(2)} answers of an arm of cost 1, its savings count for ${savingHours / 24} days`;
}
