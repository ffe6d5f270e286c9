// Three projects: unit tests stand beside the code and need no service; integration tests in test/
// share one embedded stack, each in topics and a database of its own; tests of faults end servers,
// so each has servers of its own. Integration and faults can run at the same time.
import { defineConfig } from "vitest/config";
import { faultFiles } from "./tools/test-files.mjs";

const ignored = ["**/node_modules/**", "**/.precedent/**"];
/**
 * They wait much and compute little, but two at a time would wait for each other's load. They
 * change nothing global, so all run in one process: to import the stages takes seconds.
 */
const inTurn = {
  pool: "forks",
  isolate: false,
  fileParallelism: false,
  testTimeout: 120_000,
  hookTimeout: 180_000,
} as const;

/**
 * Their unit tests are of values and share nothing, so that npm test runs them first, in one
 * process. The rest follows in another. Run by hand every file has a process of its own.
 */
const together = [
  ...["algorithms", "analysis", "bench", "cli", "config", "deploy", "docs", "operators", "pipelines", "runtime"],
  ...["arms/openai", "arms/recorded", "schemas", "tools/demo"],
  ...["breakers", "helpfulness", "inventory", "load", "policies", "response-cache"].map((folder) => `state/${folder}`),
].map((folder) => `${folder}/**/*.test.ts`);
const only = process.env.PRECEDENT_UNIT_TESTS;

export default defineConfig({
  test: {
    // Threads segfault with chdb.
    pool: "forks",
    projects: [
      {
        test: {
          name: "unit",
          pool: "forks",
          isolate: only === undefined,
          include: only === "together" ? together : ["**/*.test.ts"],
          exclude: [...ignored, "test/**", ...(only === "apart" ? together : [])],
          testTimeout: 30_000,
        },
      },
      {
        test: {
          ...inTurn,
          name: "integration",
          include: ["test/**/*.test.ts"],
          exclude: [...ignored, ...faultFiles],
          globalSetup: ["test/support/global-setup.ts"],
        },
      },
      { test: { ...inTurn, name: "faults", include: [...faultFiles], exclude: ignored } },
    ],
  },
});
