// npm test: installs what a fresh clone lacks, then checks types, style and import rules, and runs
// the unit tests, the integration tests on a real embedded stack, and the tests of faults on
// servers of their own. One line more than there are cores run side by side, since much of it is
// waiting; the recorded seconds of the files (durations.json) decide which line runs which, so that
// all end at about the same time. After each file a line gives its time and an estimate of what is left. At the end every
// failure is repeated, for a record that keeps only the end of the output; the last line says how
// many passed and failed. What is run can be narrowed:
//   npm test -- checks | unit | integration | faults
// With --record, a run without failures writes its seconds to durations.json.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { ensurePackages, root, run } from "./bootstrap.mjs";
import { prefetch } from "./prefetch.mjs";
import { faultFiles } from "./test-files.mjs";
import { checks, secondsSince, vitest } from "./test-parts.mjs";
import { createProgress, divide, expectedSeconds, lineCount } from "./test-schedule.mjs";

const started = Date.now();
/** When set-up ended: its time says nothing of the pace of the tests. */
let began = started;
const parts = ["checks", "unit", "integration", "faults"];
const record = process.argv.includes("--record");
const asked = process.argv.slice(2).filter((argument) => argument !== "--record");
const unknown = asked.filter((part) => !parts.includes(part));
if (unknown.length > 0) {
  console.error(`npm test knows ${parts.join(", ")}; not ${unknown.join(", ")}`);
  process.exit(2);
}
const wanted = (part) => asked.length === 0 || asked.includes(part);
/** failures: name and message of each. */
const results = { passed: 0, skipped: 0, failures: [] };
const { failures } = results;
/** Failures repeated at the end. */
const shown = 20;

/** Seconds of integration and fault files, and of the parts before them. */
const durationsFile = join(root, "tools", "durations.json");
const recorded = existsSync(durationsFile) ? JSON.parse(readFileSync(durationsFile, "utf8")) : {};
const measured = {};
/** Which unit tests may share a module cache: vitest.config.ts. */
const unitParts = ["together", "apart"];
const testFiles = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => `test/${name}`);
const projectOf = (file) => (faultFiles.includes(file) ? "faults" : "integration");
const expected = expectedSeconds(
  testFiles.filter((file) => wanted(projectOf(file))),
  recorded,
);
const secondsOfPart = (part) => recorded[part] ?? 60;
const before = [
  ...(wanted("checks") ? ["checks"] : []),
  ...(wanted("unit") ? unitParts.map((part) => `unit ${part}`) : []),
];
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
/** The first line begins with the parts that need no stack. */
const busy = Array(lineCount(availableParallelism(), totalmem())).fill(0);
busy[0] = sum(before.map(secondsOfPart));
const lines = divide(expected, busy);
const progress = createProgress(
  lines.map((files, line) => busy[line] + sum(files.map((file) => expected.get(file)))),
  () => secondsSince(began),
);

/** Name, result, time, and an estimate of what is left of everything. */
function printFile({ file, seconds, passed, skipped, failed }) {
  const counts = [
    `${passed} passed`,
    failed.length > 0 && `${failed.length} failed`,
    skipped > 0 && `${skipped} skipped`,
  ];
  const left = `about ${Math.ceil(progress.left() / 60)} min left`;
  const mark = failed.length === 0 ? "✓" : "✗";
  console.log(`${mark} ${file} (${counts.filter(Boolean).join(", ")}, ${seconds.toFixed(1)} s), ${left}`);
  for (const name of failed) console.log(`  ✗ ${name}`);
}

const rounded = (seconds) => Math.round(10 * seconds) / 10;

/** One of the parts before the files of the first line. */
async function runPart(part, work) {
  const since = Date.now();
  await work();
  measured[part] = rounded(secondsSince(since));
  progress.finish(0, secondsOfPart(part));
}

async function setUp() {
  const since = Date.now();
  const code = await run(process.execPath, ["tools/bin/run.mjs", "tools/setup/setup.ts"]);
  if (code !== 0) throw new Error("set-up failed");
  await run(process.execPath, ["tools/bin/run.mjs", "tools/setup/software-gpu.ts"]);
  console.log(`✓ set-up (${secondsSince(since).toFixed(1)} s)`);
}

/** The files that share a stack, then those that end servers. */
async function runFiles(line) {
  const onFile = (report) => {
    measured[report.file] = rounded(report.seconds);
    progress.finish(line, expected.get(report.file) ?? 0);
    printFile(report);
  };
  for (const project of ["integration", "faults"]) {
    const args = lines[line].filter((file) => projectOf(file) === project);
    if (args.length > 0) await vitest(results, project, { args, onFile });
  }
}

async function all() {
  if (parts.slice(1).some(wanted)) process.once("exit", prefetch(["SmolLM2-135M-Instruct"]));
  await ensurePackages();
  console.log(`✓ packages (${secondsSince(started).toFixed(1)} s)`);
  const ready = (parts.slice(1).some(wanted) ? setUp() : Promise.resolve()).then(() => void (began = Date.now()));
  const first = async () => {
    if (wanted("checks")) await runPart("checks", () => checks(results));
    await ready;
    if (wanted("unit"))
      for (const part of unitParts) {
        const more = { PRECEDENT_UNIT_TESTS: part };
        await runPart(`unit ${part}`, () => vitest(results, "unit", { more, onFile: printFile }));
      }
    await runFiles(0);
  };
  const other = async (line) => {
    await ready;
    await runFiles(line);
  };
  const ended = await Promise.allSettled(lines.map((_, line) => (line === 0 ? first() : other(line))));
  const reasons = ended.flatMap(({ status, reason }) => (status === "rejected" ? [reason] : []));
  if (reasons.length > 0) throw reasons[0];
}

await all().catch((error) => {
  const message = error instanceof Error ? error.message : String(error);
  console.error(message);
  failures.push({ name: "npm test", message });
});
if (record && failures.length === 0) {
  const there = Object.entries({ ...recorded, ...measured }).filter(
    ([name]) => !name.startsWith("test/") || testFiles.includes(name),
  );
  writeFileSync(durationsFile, `${JSON.stringify(Object.fromEntries(there.sort()), null, 2)}\n`);
}
for (const { name, message } of failures.slice(0, shown))
  console.log(`\n✗ ${name}\n${message.replace(/^(?=.)/gm, "    ")}`);
if (failures.length > shown) console.log(`\n✗ and ${failures.length - shown} more`);
const { passed, skipped } = results;
const failed = failures.length;
console.log(`\nall of it took ${secondsSince(started).toFixed(1)} s`);
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
