// npm run demo: installs what a fresh clone lacks, then runs the demonstration (tools/demo/main.ts).
import { ensurePackages, environment, run } from "./bootstrap.mjs";
import { prefetch } from "./prefetch.mjs";

const started = Date.now();
// Ctrl-C reaches the demonstration as well, from the terminal: it stops what it started, and we
// wait for that.
process.on("SIGINT", () => {});

/** An endpoint answers instead of the large model (tools/demo/main.ts, deploy/demo-openai.yaml). */
const { OPENAI_BASE_URL, OPENAI_API_KEY } = process.env;
const large = OPENAI_BASE_URL && OPENAI_API_KEY ? [] : ["Qwen2.5-Coder-1.5B-Instruct"];
const endPrefetch = prefetch(["Qwen2.5-Coder-0.5B-Instruct", ...large]);
try {
  await ensurePackages({ dev: false });
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
