// npm test: installs what a fresh clone lacks, then checks types, style and import rules, and runs
// the unit tests, the integration tests on a real embedded stack, and the tests of faults on
// servers of their own. Two lines run side by side, since much of it is waiting; the recorded
// durations of the files (tools/durations.json) say which line runs which, so that both end at about
// the same time. After each file a line tells its time and an estimate of what is left. At the end
// every failure is repeated, for a record that keeps only the end of the output; the last line says
// how many passed and failed. What is run can be narrowed:
//   npm test -- checks | unit | integration | faults
// With --record the durations of this run are written to tools/durations.json when all has passed.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensurePackages, environment, root, run } from "./bootstrap.mjs";
import { createProgress, divide, expectedSeconds } from "./test-schedule.mjs";
import { faultFiles } from "./test-files.mjs";

const started = Date.now();
const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;
const parts = ["checks", "unit", "integration", "faults"];
const record = process.argv.includes("--record");
const asked = process.argv.slice(2).filter((argument) => argument !== "--record");
const unknown = asked.filter((part) => !parts.includes(part));
if (unknown.length > 0) {
  console.error(`npm test knows ${parts.join(", ")}; not ${unknown.join(", ")}`);
  process.exit(2);
}
const wanted = (part) => asked.length === 0 || asked.includes(part);
const total = { passed: 0, skipped: 0 };
/** Name and message of each. */
const failures = [];
/** Of the output of a check, and of all failures at the end. */
const most = { lines: 40, failures: 20 };

/** One check that either holds or not; its output is only shown when it doesn't. */
async function check(name, args) {
  const since = Date.now();
  const { code, output } = await new Promise((resolve) => {
    const chunks = [];
    const child = spawn(process.execPath, args, { cwd: root, env: environment, stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.stderr.on("data", (chunk) => chunks.push(chunk));
    child.once("error", (error) => resolve({ code: 1, output: error.message }));
    child.once("close", (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString() }));
  });
  if (code === 0) total.passed++;
  else failures.push({ name, message: output.trim().split("\n").slice(-most.lines).join("\n") });
  console.log(`${code === 0 ? "✓" : "✗"} ${name} (${seconds(since)})${code === 0 ? "" : `\n${output}`}`);
}

/** Seconds of files and of whole parts on an idle machine with two cores; written by --record. */
const durationsFile = join(root, "tools", "durations.json");
const recorded = existsSync(durationsFile) ? JSON.parse(readFileSync(durationsFile, "utf8")) : {};
const measured = {};
const parted = ["together", "apart"];
const testFiles = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => `test/${name}`);
const isFault = (file) => faultFiles.includes(file);
const chosen = testFiles.filter((file) => wanted(isFault(file) ? "faults" : "integration"));
const expected = expectedSeconds(chosen, recorded);
/** What the first line does before its files. */
const before = [
  ...(wanted("checks") ? ["checks"] : []),
  ...(wanted("unit") ? parted.map((part) => `unit ${part}`) : []),
];
const sum = (all) => all.reduce((a, b) => a + b, 0);
const busy = [sum(before.map((part) => recorded[part] ?? 60)), 0];
const lines = divide(expected, busy);
const progress = createProgress(
  lines.map((files, line) => busy[line] + sum(files.map((file) => expected.get(file)))),
  () => (Date.now() - started) / 1_000,
);

/** One line a file: result, name, time, and an estimate of what is left of everything. */
function fileDone({ file, seconds, passed, skipped, failed }) {
  const minutes = Math.ceil(progress.left() / 60);
  const counts = [`${passed} passed`, ...(failed.length > 0 ? [`${failed.length} failed`] : [])];
  if (skipped > 0) counts.push(`${skipped} skipped`);
  const mark = failed.length === 0 ? "✓" : "✗";
  console.log(`${mark} ${file} (${counts.join(", ")}, ${seconds.toFixed(1)} s), about ${minutes} min left`);
  for (const name of failed) console.log(`  ✗ ${name}`);
}

/** line: whose progress it is; part: what its files are recorded as together, else each of them is. */
async function vitest(project, line, { part, more = {}, args = [] }) {
  const folder = mkdtempSync(join(tmpdir(), "precedent-test-"));
  const file = join(folder, "report.json");
  const since = Date.now();
  try {
    const reporter = "--reporter=./tools/failures-reporter.ts";
    const code = await run(
      process.execPath,
      ["node_modules/vitest/vitest.mjs", "run", "--project", project, reporter, ...args],
      {
        env: { ...environment, ...more, PRECEDENT_TEST_REPORT: file },
        stdio: ["inherit", "inherit", "inherit", "ipc"],
        onMessage(report) {
          if (part === undefined) {
            measured[report.file] = Math.round(10 * report.seconds) / 10;
            progress.finish(line, expected.get(report.file) ?? 0);
          }
          fileDone(report);
        },
      },
    );
    const nothing = { passed: 0, skipped: 0, failures: [], finished: false };
    const report = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : nothing;
    total.passed += report.passed;
    total.skipped += report.skipped;
    failures.push(...report.failures);
    if (!report.finished || (code !== 0 && report.failures.length === 0))
      failures.push({
        name: `${project} tests`,
        message: `vitest ended with exit code ${code}${report.finished ? " and without a failure" : " before its end"}`,
      });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  if (part !== undefined) finishPart(part, line, since);
}

/** Of what a line does before its files. */
function finishPart(part, line, since) {
  measured[part] = Math.round((Date.now() - since) / 100) / 10;
  progress.finish(line, recorded[part] ?? 60);
}

async function checks() {
  await Promise.all([
    check("types", ["node_modules/typescript/bin/tsc", "--noEmit"]),
    check("types of the page", ["node_modules/typescript/bin/tsc", "-p", "gateway/page/client"]),
    check("nothing unused", ["node_modules/knip/bin/knip.js", "--no-progress"]),
    check("format", ["node_modules/prettier/bin/prettier.cjs", "--check", "--log-level", "warn", "."]),
  ]);
  await check("lint and import rules", ["node_modules/eslint/bin/eslint.js", "--max-warnings", "0", "."]);
}

async function setUp() {
  const since = Date.now();
  const code = await run(process.execPath, ["tools/bin/run.mjs", "tools/setup/setup.ts"]);
  if (code !== 0) throw new Error("set-up failed");
  console.log(`✓ set-up (${seconds(since)})`);
}

/**
 * What needs only packages, and what needs the models and servers that set-up brings, in two lines
 * that run side by side.
 */
async function all() {
  await ensurePackages();
  console.log(`✓ packages (${seconds(started)})`);
  const ready = parts.slice(1).some(wanted) ? setUp() : Promise.resolve();
  const first = async () => {
    const since = Date.now();
    if (wanted("checks")) {
      await checks();
      finishPart("checks", 0, since);
    }
    await ready;
    // Which may share a process: vitest.config.ts.
    if (wanted("unit"))
      for (const part of parted)
        await vitest("unit", 0, { part: `unit ${part}`, more: { PRECEDENT_UNIT_TESTS: part } });
    await testsOf(0);
  };
  const second = async () => {
    await ready;
    await testsOf(1);
  };
  const ended = await Promise.allSettled([first(), second()]);
  const reasons = ended.flatMap(({ status, reason }) => (status === "rejected" ? [reason] : []));
  if (reasons.length > 0) throw reasons[0];
}

/** Those that share a stack, then those that end servers. */
async function testsOf(line) {
  for (const project of ["integration", "faults"]) {
    const args = lines[line].filter((file) => isFault(file) === (project === "faults"));
    if (args.length > 0) await vitest(project, line, { args });
  }
}

await all().catch((error) => {
  const message = error instanceof Error ? error.message : String(error);
  console.error(message);
  failures.push({ name: "npm test", message });
});
for (const { name, message } of failures.slice(0, most.failures))
  console.log(`\n✗ ${name}\n${message.replace(/^(?=.)/gm, "    ")}`);
if (failures.length > most.failures) console.log(`\n✗ and ${failures.length - most.failures} more`);
const { passed, skipped } = total;
const failed = failures.length;
console.log(`\nall of it took ${seconds(started)}`);
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
if (record && failed === 0) {
  const kept = Object.entries({ ...recorded, ...measured }).filter(
    ([name]) => !name.startsWith("test/") || testFiles.includes(name),
  );
  writeFileSync(durationsFile, `${JSON.stringify(Object.fromEntries(kept.sort()), null, 2)}\n`);
}
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
