// A reporter of vitest for tools/test.mjs: writes counts and every failure (of a test, a hook, a
// file that can't be loaded, and uncaught errors) as JSON to the file that PRECEDENT_TEST_REPORT
// names, in few enough lines for the very end of the output. It sends the results of each file to
// the parent process as soon as the file ends.
import { renameSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { TestError } from "vitest";
import type { Reporter, TestModule } from "vitest/node";

/** Sent to the parent process after every file. */
export interface FileReport {
  /** Path in the repository. */
  file: string;
  /** With imports and hooks. */
  seconds: number;
  passed: number;
  skipped: number;
  /** Names. */
  failed: string[];
}

type Module = Pick<TestModule, "moduleId" | "children" | "errors">;
type AnError = Partial<TestError>;

export interface TestReport {
  passed: number;
  skipped: number;
  /** Where and what: file and full name; and its errors in plain text. */
  failures: { name: string; message: string }[];
}

/**
 * Lines of one failure, of a part of it, and characters of a line: a counterexample may be very
 * long.
 */
const most = { lines: 25, part: 12, characters: 400 };

const linesOf = (text: string): string[] =>
  stripVTControlCharacters(text)
    .trim()
    .split("\n")
    .slice(0, most.part)
    .map((line) => (line.length > most.characters ? `${line.slice(0, most.characters)} ...` : line));

/** What was wrong, the difference, where, and what that was caused by. */
export function describeError(error: AnError, root: string): string {
  const lines: string[] = [];
  let label = "";
  for (let one: AnError | undefined = error; one !== undefined && lines.length < most.lines;) {
    lines.push(...linesOf(`${label}${one.name ?? "Error"}: ${one.message ?? "something without a message"}`));
    if (one.diff) lines.push(...linesOf(one.diff));
    const at = one.stacks?.find(({ file }) => !file.includes("node_modules"));
    if (at !== undefined) lines.push(`    at ${relative(root, at.file)}:${at.line}:${at.column}`);
    one = one.cause;
    // The default reporter, which comes first, has put it before the cause's name.
    label = one?.name?.startsWith("Caused by") === true ? "" : "Caused by: ";
  }
  return lines.slice(0, most.lines).join("\n");
}

/** Written after every file of tests: what is known stays known when the run is killed. */
export default class FailuresReporter implements Reporter {
  private readonly ended: Module[] = [];
  private readonly startedAt = new Map<string, number>();
  onTestModuleQueued(module: Pick<TestModule, "moduleId">): void {
    this.startedAt.set(module.moduleId, Date.now());
  }
  onTestModuleEnd(module: Module): void {
    this.ended.push(module);
    write({ ...reportOf(this.ended, [], process.cwd()), finished: false });
    const { passed, skipped, failures } = reportOf([module], [], process.cwd());
    process.send?.({
      file: relative(process.cwd(), module.moduleId),
      seconds: (Date.now() - (this.startedAt.get(module.moduleId) ?? Date.now())) / 1_000,
      ...{ passed, skipped, failed: failures.map(({ name }) => name) },
    } satisfies FileReport);
  }
  onUserConsoleLog({ content }: { content: string }): void {
    process.stdout.write(content);
  }
  onTestRunEnd(modules: readonly Module[], uncaught: readonly AnError[]): void {
    write({ ...reportOf(modules, uncaught, process.cwd()), finished: true });
  }
}

function write(report: TestReport & { finished: boolean }): void {
  const file = process.env["PRECEDENT_TEST_REPORT"];
  if (file === undefined) return;
  writeFileSync(`${file}.new`, JSON.stringify(report));
  renameSync(`${file}.new`, file);
}

export function reportOf(modules: readonly Module[], uncaught: readonly AnError[], root: string): TestReport {
  const report: TestReport = { passed: 0, skipped: 0, failures: [] };
  const failed = (name: string, errors: readonly AnError[]): void => {
    const message = errors.map((error) => describeError(error, root)).join("\n");
    report.failures.push({ name, message: message.split("\n").slice(0, most.lines).join("\n") });
  };
  for (const module of modules) {
    const path = relative(root, module.moduleId);
    // Errors of the file itself: it can't be loaded, or a hook failed. Its tests are then skipped.
    if (module.errors().length > 0) failed(path, module.errors());
    for (const suite of module.children.allSuites())
      if (suite.errors().length > 0) failed(`${path} > ${suite.fullName}`, suite.errors());
    for (const test of module.children.allTests()) {
      const { state, errors } = test.result();
      if (state === "failed") failed(`${path} > ${test.fullName}`, errors);
      else report[state === "passed" ? "passed" : "skipped"]++;
    }
  }
  // One cause may have hundreds.
  const alike = new Map<string, AnError[]>();
  for (const error of uncaught) {
    const key = JSON.stringify([error["type"], error["VITEST_TEST_PATH"], error.message]);
    alike.set(key, [...(alike.get(key) ?? []), error]);
  }
  for (const [first = {}, ...others] of alike.values()) {
    const path = first["VITEST_TEST_PATH"];
    const where = typeof path === "string" ? ` while ${relative(root, path)} ran` : "";
    const more = others.length === 0 ? "" : `, ${others.length + 1} times`;
    failed(`an uncaught error (${String(first["type"])})${where}${more}`, [first]);
  }
  return report;
}
