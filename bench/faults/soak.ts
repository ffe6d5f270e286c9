// npm run soak: a system under a steady load to which one fault after the other is done, in an
// order that a seed chooses; how soon it goes on after each, and at the end whether everything
// holds that must. Without --only the tests of which npm test runs a part come first, with their
// full counts. Exit code 1 when anything does not hold.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { commit } from "../support/machine.ts";
import { writeReport } from "../report.ts";
import { fullCountFiles } from "../../tools/test-files.mjs";
import { groups, type Group } from "./catalogue.ts";
import { soak } from "./run.ts";

const usage = `usage: npm run --silent soak -- [--minutes N] [--seed S] [--kills K] [--only GROUP | --hostile] [--per-second N] [--output FILE] [--keep]
  --minutes     how long there is load; 10 by default, without --kills
  --kills       ends after so many faults instead, or with --minutes after whichever comes first
  --only        ${groups.join(", ")}; all of them by default
  --hostile     hostile clients and kills of the broker, 15 minutes by default; compares latency
                and memory of the others with a quiet minute before; soak-hostile.json
  --seed        of the faults, their order and their moments; 7 by default
  --per-second  requests; 20 by default
  --output      file of the report; bench/results/soak.json by default, soak-GROUP.json with --only
  --keep        keep the folder of the stack and the logs of the stages\n`;

const root = fileURLToPath(new URL("../..", import.meta.url));
const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const)
  process.on(name, () => {
    if (stopping.signal.aborted) process.exit(130);
    stopping.abort(new Error(`stopped by ${name}`));
  });

/** Whether the tests hold with their full counts. */
async function fullCountsHold(): Promise<boolean> {
  const given = ["node_modules/vitest/vitest.mjs", "run", ...fullCountFiles];
  const env = { ...process.env, PRECEDENT_FULL_COUNTS: "1" };
  const child = spawn(process.execPath, given, { cwd: root, env, stdio: "inherit", signal: stopping.signal });
  const [code] = (await once(child, "exit")) as [number | null];
  return code === 0;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string" },
      kills: { type: "string" },
      only: { type: "string" },
      hostile: { type: "boolean", default: false },
      seed: { type: "string", default: "7" },
      "per-second": { type: "string", default: "20" },
      output: { type: "string" },
      keep: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const only = groups.find((group) => group === values.only);
  const most = values.kills === undefined ? Infinity : Number(values.kills);
  const minutes =
    values.minutes === undefined ? (most === Infinity ? (values.hostile ? 15 : 10) : Infinity) : Number(values.minutes);
  const perSecond = Number(values["per-second"]);
  const wrong = values.only !== undefined && only === undefined;
  if (values.help || wrong || !(minutes > 0) || !(most >= 1) || !(perSecond >= 1) || !/^\d+$/.test(values.seed)) {
    process.stderr.write(usage);
    return values.help ? 0 : 2;
  }
  // At the start: what is committed while it runs was not measured.
  const about = { commit: commit(), date: new Date().toISOString() };
  const command = `npm run --silent soak -- ${process.argv.slice(2).join(" ")}`.trim();
  const chosen: readonly Group[] = values.hostile ? ["hostile", "broker"] : only === undefined ? groups : [only];
  const part = values.hostile ? "hostile" : only;
  const countsHold = part !== undefined || (await fullCountsHold());
  const began = performance.now();
  const report = await soak({
    ...{
      minutes,
      most,
      groups: chosen,
      seed: BigInt(values.seed),
      perSecond,
      keep: values.keep,
      compare: values.hostile,
    },
    signal: stopping.signal,
    tell: (line) => process.stdout.write(`${line}\n`),
  });
  const file = resolve(
    values.output ?? join(root, "bench", "results", part === undefined ? "soak.json" : `soak-${part}.json`),
  );
  const seconds = Math.round((performance.now() - began) / 100) / 10;
  await writeReport(file, { ...{ benchmark: "soak", quick: false, command, ...about, seconds }, ...report });
  process.stdout.write(report.violations.map((violation) => `VIOLATION ${violation}\n`).join(""));
  const { faults, stalls, lost, doubled } = report;
  const said = `${faults} faults, ${stalls} stalls, ${lost} lost, ${doubled} doubled; report in ${file}`;
  const good = countsHold && stalls === 0 && report.violations.length === 0;
  if (!countsHold) process.stdout.write("FAILED: tests with their full counts, see above\n");
  process.stdout.write(good ? `all held: ${said}\n` : `FAILED: ${said}; repeat it with --seed ${values.seed}\n`);
  return good ? 0 : 1;
}

const code = await main().catch((error: unknown) => {
  process.stderr.write(`error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return stopping.signal.aborted ? 130 : 1;
});
// Not by exhaustion: a driver's idle socket must not keep a finished run alive.
process.stdout.write("", () => process.exit(code));
