// npm run demo: installs what a fresh clone lacks, then runs the demonstration (tools/demo/main.ts).
import { ensurePackages, environment, run } from "./bootstrap.mjs";
import { prefetch } from "./prefetch.mjs";

const started = Date.now();
// Ctrl-C reaches the demonstration as well, from the terminal: it stops what it started, and we
// wait for that.
process.on("SIGINT", () => {});

/** Models of the arms in deploy/demo.yaml, in the order in which they are needed. */
const endPrefetch = prefetch(["SmolLM2-135M-Instruct", "Qwen2.5-Coder-0.5B-Instruct"]);
try {
  await ensurePackages();
  process.exitCode = await run(
    process.execPath,
    ["tools/bin/run.mjs", "tools/demo/main.ts", ...process.argv.slice(2)],
    {
      env: { ...environment, PRECEDENT_DEMO_STARTED: String(started) },
    },
  );
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  endPrefetch();
}
