import { expect, test } from "vitest";
import type { TestModule } from "vitest/node";
import { describeError, reportOf } from "./failures-reporter.ts";

const stacks = [
  { file: "/root/node_modules/x/y.js", line: 1, column: 1, method: "" },
  { file: "/root/a/b.test.ts", line: 7, column: 3, method: "" },
];

test("an error is reported with its difference, its place and its causes, without colours", () => {
  const cause = { name: "AssertionError", message: "expected 1 to be 2", diff: "\u001b[32m- 2\u001b[39m\n+ 1", stacks };
  expect(describeError({ name: "Error", message: "Property failed\n{ seed: 1 }", cause }, "/root")).toBe(
    "Error: Property failed\n{ seed: 1 }\nCaused by: AssertionError: expected 1 to be 2\n- 2\n+ 1\n    at a/b.test.ts:7:3",
  );
});

test("what is very long is cut, and its cause still told", () => {
  const message = Array.from({ length: 50 }, () => "x".repeat(1_000)).join("\n");
  const lines = describeError(
    { message, diff: message, cause: { message: "the cause", cause: { message } } },
    "/",
  ).split("\n");
  expect(lines.length).toBe(25);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(420);
  expect(lines.at(-1)).toBe("Caused by: Error: the cause");
});

test("tests, hooks, files and uncaught errors count once each", () => {
  const error = (message: string) => ({ name: "Error", message });
  const result = (state: "passed" | "failed" | "skipped") => () => ({ state, errors: [error("not so")] });
  const module = {
    moduleId: "/root/a/b.test.ts",
    errors: () => [error("a hook of the file")],
    children: {
      allSuites: () => [
        { fullName: "inner", errors: () => [error("a hook of the suite")] },
        { fullName: "fine", errors: () => [] },
      ],
      allTests: () => [
        { fullName: "inner > one", result: result("failed") },
        { fullName: "two", result: result("passed") },
        { fullName: "three", result: result("skipped") },
      ],
    },
  } as unknown as TestModule;
  const lost = { ...error("lost"), type: "Unhandled Rejection" };
  const uncaught = [lost, ...Array.from({ length: 3 }, () => ({ ...lost, VITEST_TEST_PATH: "/root/a/c.test.ts" }))];
  expect(reportOf([module], uncaught, "/root")).toEqual({
    passed: 1,
    skipped: 1,
    failures: [
      { name: "a/b.test.ts", message: "Error: a hook of the file" },
      { name: "a/b.test.ts > inner", message: "Error: a hook of the suite" },
      { name: "a/b.test.ts > inner > one", message: "Error: not so" },
      { name: "an uncaught error (Unhandled Rejection)", message: "Error: lost" },
      { name: "an uncaught error (Unhandled Rejection) while a/c.test.ts ran, 3 times", message: "Error: lost" },
    ],
  });
});
