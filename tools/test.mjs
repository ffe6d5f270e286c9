// npm test: installs what a fresh clone lacks, then checks types, style and import rules, and runs
// the unit tests, the integration tests on a real embedded stack, and the tests of faults on
// servers of their own. Two of these run at a time, since much of it is waiting; a third of the
// integration tests runs beside the rest of them, on a stack of its own, so that both end at about
// the same time. All failures are repeated at the end, for a record that keeps only the end of the
// output; the last line says how many passed and failed. The parts to run can be narrowed:
//   npm test -- checks | unit | integration | faults
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensurePackages, environment, root, run } from "./bootstrap.mjs";
import { prefetch } from "./prefetch.mjs";

const started = Date.now();
const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;
const parts = ["checks", "unit", "integration", "faults"];
const asked = process.argv.slice(2);
const unknown = asked.filter((part) => !parts.includes(part));
if (unknown.length > 0) {
  console.error(`npm test knows ${parts.join(", ")}; not ${unknown.join(", ")}`);
  process.exit(2);
}
const wanted = (part) => asked.length === 0 || asked.includes(part);
const total = { passed: 0, skipped: 0 };
/** Name and message of each. */
const failures = [];
/** Maximum lines of a check's output, and maximum failures at the end. */
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

async function vitest(project, { more = {}, args = [] } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "precedent-test-"));
  const file = join(folder, "report.json");
  try {
    const reporters = ["--reporter=default", "--reporter=./tools/failures-reporter.ts"];
    const code = await run(
      process.execPath,
      ["node_modules/vitest/vitest.mjs", "run", "--project", project, ...reporters, ...args],
      { env: { ...environment, ...more, PRECEDENT_TEST_REPORT: file } },
    );
    const nothing = { passed: 0, skipped: 0, failures: [], finished: false };
    const report = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : nothing;
    total.passed += report.passed;
    total.skipped += report.skipped;
    failures.push(...report.failures);
    if (!report.finished || (code !== 0 && report.failures.length === 0))
      failures.push({
        name: `${project} tests`,
        message: `vitest ended with exit code ${code}${report.finished ? " and no failure to tell of" : " before it was through"}`,
      });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Development dependencies and what ships with packages are not looked for. */
const withoutTests = ["--production", "--include", "files,exports,types"];

async function checks() {
  await Promise.all([
    check("types", ["node_modules/typescript/bin/tsc", "--noEmit"]),
    check("types of the page", ["node_modules/typescript/bin/tsc", "-p", "gateway/page/client"]),
    check("nothing unused", ["node_modules/knip/bin/knip.js", "--no-progress"]),
    check("nothing that only tests use", ["node_modules/knip/bin/knip.js", "--no-progress", ...withoutTests]),
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
  const endPrefetch = parts.slice(1).some(wanted) ? prefetch(["SmolLM2-135M-Instruct"]) : () => undefined;
  process.once("exit", endPrefetch);
  await ensurePackages();
  console.log(`✓ packages (${seconds(started)})`);
  const ready = parts.slice(1).some(wanted) ? setUp() : Promise.resolve();
  const first = async () => {
    if (wanted("checks")) await checks();
    await ready;
    // Which may share a process: vitest.config.ts.
    if (wanted("unit"))
      for (const PRECEDENT_UNIT_TESTS of ["together", "apart"])
        await vitest("unit", { more: { PRECEDENT_UNIT_TESTS } });
    if (wanted("integration")) await third(1);
    if (wanted("faults")) await vitest("faults");
  };
  const third = (shard) => vitest("integration", { args: [`--shard=${shard}/3`] });
  const second = async () => {
    await ready;
    if (wanted("integration")) for (const shard of [2, 3]) await third(shard);
  };
  const ended = await Promise.allSettled([first(), second()]);
  const reasons = ended.flatMap(({ status, reason }) => (status === "rejected" ? [reason] : []));
  if (reasons.length > 0) throw reasons[0];
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
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
