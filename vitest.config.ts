// Two projects: unit tests stand beside the code and need no service; integration tests in test/ run on the real embedded stack.
import { defineConfig } from "vitest/config";

const ignored = ["**/node_modules/**", "**/.precedent/**"];

export default defineConfig({
  test: {
    // Threads segfault with chdb.
    pool: "forks",
    projects: [
      {
        test: {
          name: "unit",
          pool: "forks",
          include: ["**/*.test.ts"],
          exclude: [...ignored, "test/**"],
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: "integration",
          pool: "forks",
          include: ["test/**/*.test.ts"],
          exclude: ignored,
          globalSetup: ["test/support/global-setup.ts"],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
