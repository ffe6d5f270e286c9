// What npm test runs: single checks, and vitest on one project. Results are added to those given.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { environment, root, run } from "./bootstrap.mjs";

export const secondsSince = (since) => (Date.now() - since) / 1_000;
/** Lines of the output of a check. */
const outputLines = 40;

/** One check; its output is only shown when it fails. */
async function check(results, name, args) {
  const since = Date.now();
  const { code, output } = await new Promise((resolve) => {
    const chunks = [];
    const child = spawn(process.execPath, args, { cwd: root, env: environment, stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.stderr.on("data", (chunk) => chunks.push(chunk));
    child.once("error", (error) => resolve({ code: 1, output: error.message }));
    child.once("close", (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString() }));
  });
  if (code === 0) results.passed++;
  else results.failures.push({ name, message: output.trim().split("\n").slice(-outputLines).join("\n") });
  const time = secondsSince(since).toFixed(1);
  console.log(`${code === 0 ? "✓" : "✗"} ${name} (${time} s)${code === 0 ? "" : `\n${output}`}`);
}

/** TypeScript 7, in a third of the time; the linter needs the 5.9 that package.json names, too. */
const compiler = "node_modules/typescript-native/bin/tsc";

export async function checks(results) {
  await Promise.all([
    check(results, "types", [compiler, "--noEmit"]),
    check(results, "types of the page", [compiler, "-p", "gateway/page/client"]),
    check(results, "nothing unused", ["node_modules/knip/bin/knip.js", "--no-progress"]),
    check(results, "nothing that only tests use", [
      "node_modules/knip/bin/knip.js",
      ...["--no-progress", "--production", "--include", "files,exports,types"],
    ]),
    check(results, "format", ["node_modules/prettier/bin/prettier.cjs", "--check", "--log-level", "warn", "."]),
  ]);
  await check(results, "lint and import rules", ["node_modules/eslint/bin/eslint.js", "--max-warnings", "0", "."]);
}

/** `onFile`: called with what failures-reporter.ts sends after each file. */
export async function vitest(results, project, { more = {}, args = [], onFile }) {
  const folder = mkdtempSync(join(tmpdir(), "precedent-test-"));
  const file = join(folder, "report.json");
  try {
    const reporter = "--reporter=./tools/failures-reporter.ts";
    const code = await run(
      process.execPath,
      ["node_modules/vitest/vitest.mjs", "run", "--project", project, reporter, ...args],
      {
        env: { ...environment, ...more, PRECEDENT_TEST_REPORT: file },
        stdio: ["inherit", "inherit", "inherit", "ipc"],
        onMessage: onFile,
      },
    );
    const nothing = { passed: 0, skipped: 0, failures: [], finished: false };
    const report = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : nothing;
    results.passed += report.passed;
    results.skipped += report.skipped;
    results.failures.push(...report.failures);
    if (!report.finished || (code !== 0 && report.failures.length === 0))
      results.failures.push({
        name: `${project} tests`,
        message: `vitest ended with exit code ${code}${report.finished ? " and without a failure" : " before its end"}`,
      });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
