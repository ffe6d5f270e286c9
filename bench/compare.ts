// npm run bench:compare: runs the quick loop benchmark and holds its ratios against the recorded
// ones (bench/results/loop-quick.json). The ratios are to the floor of the same run, since machines
// differ by a factor of three; but the ratios of one commit differ by a third between machines of
// one kind, and by as much between runs on one machine. So what looks worse by more than the limit
// is held against the recorded commit on this machine, three runs of each in turn, and the medians
// decide: ends with 1 when one got worse by more than the limit. With --record what was measured
// becomes the record.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import Table from "cli-table3";
import { messageOf } from "../connections/errors.ts";
import { type Report, writeReport } from "./report.ts";
import { compare, type Better } from "./support/compare.ts";
import { output, root, withCommit } from "./support/former.ts";
import { median } from "./support/statistics.ts";

const file = join(root, "bench/results/loop-quick.json");
const ratios: Readonly<Record<string, Better>> = { throughput_ratio: "more", cpu_ratio: "less" };
/** Medians of so many runs of one commit on one machine differ by less than the limit. */
const runs = 3;
const limit = 0.15;

/** One quick run of the commit in that folder; its progress goes to our standard error. */
const measured = async (folder: string): Promise<Report> =>
  JSON.parse(
    await output(process.execPath, ["--import", "tsx", "bench/main.ts", "loop", "--quick", "--json"], folder),
  ) as Report;

/** The median of each ratio; what else a report has is of the first. */
const middle = (reports: readonly Report[]): Report => ({
  ...reports[0]!,
  ...Object.fromEntries(
    Object.keys(ratios).map((figure) => [figure, median(reports.map((one) => Number(one[figure])))]),
  ),
});

/** Runs of the former commit and of this one, in turn, since machines get faster and slower. */
async function inTurn(folder: string, first: Report): Promise<{ former: Report; now: Report }> {
  const [former, now]: [Report[], Report[]] = [[], [first]];
  for (let run = 1; run <= runs; run++) {
    process.stderr.write(`run ${run} of ${runs} of both\n`);
    former.push(await measured(folder));
    if (run < runs) now.push(await measured(root));
  }
  return { former: middle(former), now: middle(now) };
}

/** Prints both beside each other; the figures that got worse. */
function held(name: string, before: Report, now: Report): string[] {
  const rows = compare(ratios, before, now, limit);
  const head = ["figure", `${name} (${String(before.commit)})`, `now (${String(now.commit)})`, "gain", ""];
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const { figure, recorded, now: after, gain, verdict } of rows)
    table.push([figure, recorded, after, `${(100 * gain).toFixed(0)} %`, verdict]);
  process.stdout.write(`${table.toString()}\n`);
  return rows.filter(({ verdict }) => verdict === "worse").map(({ figure }) => figure);
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { record: { type: "boolean", default: false } } });
  const now = await measured(root);
  if (values.record) {
    await writeReport(file, { ...now, command: "npm run bench:compare -- --record" });
    process.stdout.write(`recorded ${Object.keys(ratios).join(" and ")} of ${String(now.commit)} in bench/results\n`);
    return 0;
  }
  const recorded = JSON.parse(await readFile(file, "utf8")) as Report;
  if (held("recorded", recorded, now).length === 0) return 0;
  process.stdout.write(
    `It may be the machine: ${String(recorded.commit)} is set up and run on this one, too, in turn (about seven minutes).\n`,
  );
  const { former, now: again } = await withCommit(String(recorded.commit), (folder) => inTurn(folder, now));
  const worse = held("beside", former, again);
  if (worse.length === 0) return 0;
  process.stdout.write(
    `worse by more than ${100 * limit} %: ${worse.join(", ")}.\n` +
      `Run it again on a quiet machine (load was ${now.machine.load}); "npm run bench -- loop --profile" shows where time goes.\n`,
  );
  return 1;
}

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`error: ${messageOf(error)}\n`);
  return 2;
});
