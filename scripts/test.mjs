// npm test: installs what a fresh clone lacks, then checks types, style and walls, and runs unit and integration tests on
// a real embedded stack. The last line says how many passed and failed; what is asked for can be narrowed:
//   npm test -- checks | unit | integration
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensurePackages, environment, root, run } from "./bootstrap.mjs";

const started = Date.now();
const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;
const parts = ["checks", "unit", "integration"];
const asked = process.argv.slice(2);
const unknown = asked.filter((part) => !parts.includes(part));
if (unknown.length > 0) {
  console.error(`npm test knows ${parts.join(", ")}; not ${unknown.join(", ")}`);
  process.exit(2);
}
const wanted = (part) => asked.length === 0 || asked.includes(part);
const total = { passed: 0, failed: 0, skipped: 0 };

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
  total[code === 0 ? "passed" : "failed"]++;
  console.log(`${code === 0 ? "✓" : "✗"} ${name} (${seconds(since)})${code === 0 ? "" : `\n${output}`}`);
}

async function vitest(project) {
  const folder = mkdtempSync(join(tmpdir(), "precedent-test-"));
  const file = join(folder, "report.json");
  try {
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
    const code = await run(process.execPath, [
      "node_modules/vitest/vitest.mjs",
      "run",
      "--project",
      project,
      ...reporters,
    ]);
    const report = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : null;
    let failed = report?.numFailedTests ?? 0;
    // A file that can't even be loaded has no tests to fail.
    failed += (report?.testResults ?? []).filter(
      (result) => result.status === "failed" && result.assertionResults.length === 0,
    ).length;
    if (code !== 0 && failed === 0) failed = 1;
    total.passed += report?.numPassedTests ?? 0;
    total.skipped += (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);
    total.failed += failed;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

try {
  await ensurePackages();
  if (wanted("integration") || wanted("unit")) {
    const code = await run(process.execPath, ["--import", "tsx", "scripts/setup.ts"]);
    if (code !== 0) throw new Error("set-up failed");
  }
  if (wanted("checks")) {
    await Promise.all([
      check("types", ["node_modules/typescript/bin/tsc", "--noEmit"]),
      check("format", ["node_modules/prettier/bin/prettier.cjs", "--check", "--log-level", "warn", "."]),
    ]);
    await check("lint and walls", ["node_modules/eslint/bin/eslint.js", "--max-warnings", "0", "."]);
  }
  if (wanted("unit")) await vitest("unit");
  if (wanted("integration")) await vitest("integration");
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  total.failed++;
}
const { passed, failed, skipped } = total;
console.log(`\nall of it took ${seconds(started)}`);
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
