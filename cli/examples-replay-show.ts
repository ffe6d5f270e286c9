// precedent examples replay show: the runs, or what one of them did, what it cost, and what it
// saved since.
import type { Command } from "commander";
import { savingHours, enoughReplays } from "../algorithms/replay-cut-off.ts";
import type { CutOff } from "../operators/replay/agenda.ts";
import { CommandError, type Io } from "./io.ts";
import { oneLine, tableOf, withClickHouse } from "./reading.ts";

export function addShowingReplays(replay: Command, io: Io): void {
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
      if (run !== undefined && rows.length === 0) throw new CommandError(`no replay of a run ${run} is recorded`);
      const [first] = rows;
      if (json === true) for (const row of rows) io.out(`${JSON.stringify(row)}\n`);
      else if (first === undefined) io.out("no replays yet\n");
      else
        io.out(
          tableOf(
            Object.keys(first),
            rows.map((row) =>
              Object.values(row).map((value) => (typeof value === "string" ? oneLine(value) : (value ?? "-"))),
            ),
          ),
        );
    });
}

// spent and saved are in average answers of an arm of cost 1.
const selectRuns = `
  SELECT tried.run AS run, began, tried, replaced, bettered, tokens, cost, spent, saved.saved AS saved
  FROM (
    SELECT run_id AS run, toString(min(created_at)) AS began, count() AS tried, countIf(outcome = 'replaced') AS replaced,
      round(sumIf(new_quality - old_quality, outcome = 'replaced'), 3) AS bettered, sum(tokens) AS tokens, round(sum(cost), 6) AS cost,
      round(sum(relative_cost), 2) AS spent
    FROM replays FINAL GROUP BY run_id ORDER BY began DESC LIMIT 100
  ) AS tried
  GLOBAL LEFT JOIN (SELECT run_id, round(sum(saved), 2) AS saved FROM replay_savings GROUP BY run_id) AS saved ON saved.run_id = tried.run
  ORDER BY began DESC`;
const selectRun = `
  SELECT tried.example AS example, attempt, outcome, old, new, gain, tokens, cost, spent, replaced_by, uses_before, uses_after, saved
  FROM (
    SELECT example_id AS example, attempt, outcome, round(old_quality, 3) AS old, round(new_quality, 3) AS new, round(gain, 4) AS gain, tokens,
      round(cost, 6) AS cost, round(relative_cost, 2) AS spent, substring(ifNull(new_example_id, ''), 1, 12) AS replaced_by, created_at
    FROM replays FINAL WHERE run_id = {run:String}
  ) AS tried
  GLOBAL LEFT JOIN (
    SELECT example_id, attempt, uses_before, uses_after, round(saved, 3) AS saved FROM replay_savings WHERE run_id = {run:String}
  ) AS since ON since.example_id = tried.example AND since.attempt = tried.attempt
  ORDER BY created_at, example`;

/** One line. */
export function describeCutOff({ gain, from, replays, cost }: CutOff): string {
  const least = Number.isFinite(gain) ? `gain ${gain.toPrecision(2)}` : "no gain seen so far is worth it";
  const why = {
    prior: `by default, until there are ${enoughReplays} past replays of at least a day, ${replays} so far`,
    "past replays": `from what ${replays} past replays saved`,
    given: "as asked",
  }[from];
  return `cut-off: ${least} (${why}); a replay costs ${cost.toPrecision(2)} answers of an arm of cost 1, its savings count for ${savingHours / 24} days`;
}
