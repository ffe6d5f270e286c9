// Unit tests beside the code need no service; integration tests in test/ share one stack; tests of
// faults have servers of their own and can run at the same time.
import { defineConfig } from "vitest/config";
import { faultFiles } from "./tools/test-files.mjs";

const ignored = ["**/node_modules/**", "**/.precedent/**"];
/** They wait much and change nothing global: one process, as imports take seconds. */
const inTurn = {
  pool: "forks",
  isolate: false,
  fileParallelism: false,
  testTimeout: 120_000,
  hookTimeout: 180_000,
} as const;

/**
 * Unit tests with processes, native modules, environment or import order of their own have a
 * process each; the others share one in npm test.
 */
const apart = [
  ...["arms/create", "arms/linked/model", "arms/linked/prefetch", "arms/openai/hostile"],
  ...["documents", "embedder", "helpfulness", "kv", "llama", "milvus"].map((folder) => `connections/${folder}/**/*`),
  ...["process", "text", "training", "worker"].map((folder) => `connections/${folder}/**/*`),
  ...[
    "connections/kafka/kafkajs*",
    "gateway/fuzz",
    "gateway/isolation/*",
    "gateway/raw-bytes",
    "gateway/server",
    "stack/**/*",
  ],
  ...[
    "state/examples/*",
    "state/examples/remote/*",
    "state/vectors/*",
    "tools/*",
    "tools/{bin,generate,lint,setup}/**/*",
  ],
].map((path) => `${path}.test.ts`);
const only = process.env.PRECEDENT_UNIT_TESTS;

export default defineConfig({
  test: {
    // Threads segfault with chdb.
    pool: "forks",
    // npm test starts vitest many times; each transforms a module once for all of them. Keyed by
    // content, emptied when package-lock.json changes.
    experimental: { fsModuleCache: true },
    projects: [
      {
        test: {
          name: "unit",
          pool: "forks",
          isolate: only !== "together",
          include: only === "apart" ? apart : ["**/*.test.ts"],
          exclude: [...ignored, "test/**", ...(only === "together" ? apart : [])],
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
