// npm run bench:compare: runs the quick loop benchmark and holds its ratios against the recorded
// ones (bench/results/loop-quick.json); ends with 1 when one got worse by more than the limit. With
// --record what was measured becomes the record. The ratios are to the floor of the same run, since
// machines differ by a factor of three.
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import Table from "cli-table3";
import { messageOf } from "../algorithms/errors.ts";
import { type Report, writeReport } from "./report.ts";
import { compare, type Better } from "./support/compare.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const file = join(root, "bench/results/loop-quick.json");
const ratios: Readonly<Record<string, Better>> = { throughput_ratio: "more", cpu_ratio: "less" };
/** Two quick runs of one commit differ by up to so much. */
const limit = 0.15;

/** One quick run; its progress goes to our standard error. */
async function measured(): Promise<Report> {
  const argv = ["--import", "tsx", join(root, "bench/main.ts"), "loop", "--quick", "--json"];
  const child = spawn(process.execPath, argv, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`the benchmark ended with ${code}`);
  return JSON.parse(Buffer.concat(chunks).toString()) as Report;
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { record: { type: "boolean", default: false } } });
  const now = await measured();
  if (values.record) {
    await writeReport(file, { ...now, command: "npm run bench:compare -- --record" });
    process.stdout.write(`recorded ${Object.keys(ratios).join(" and ")} of ${String(now.commit)} in bench/results\n`);
    return 0;
  }
  const recorded = JSON.parse(await readFile(file, "utf8")) as Report;
  const rows = compare(ratios, recorded, now, limit);
  const head = ["figure", `recorded (${String(recorded.commit)})`, `now (${String(now.commit)})`, "gain", ""];
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const { figure, recorded: before, now: after, gain, verdict } of rows)
    table.push([figure, before, after, `${(100 * gain).toFixed(0)} %`, verdict]);
  process.stdout.write(`${table.toString()}\n`);
  const worse = rows.filter(({ verdict }) => verdict === "worse");
  if (worse.length === 0) return 0;
  process.stdout.write(
    `worse by more than ${100 * limit} %: ${worse.map(({ figure }) => figure).join(", ")}.\n` +
      `Run it again on a quiet machine (load was ${now.machine.load}); "npm run bench -- loop --profile" shows where time goes.\n`,
  );
  return 1;
}

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`error: ${messageOf(error)}\n`);
  return 2;
});
