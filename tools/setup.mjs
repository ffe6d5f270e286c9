// npm run setup: packages first, then models, servers and the native library (setup.ts).
import { ensurePackages, run } from "./bootstrap.mjs";

try {
  await ensurePackages();
  process.exitCode = await run(process.execPath, [
    "tools/bin/run.mjs",
    "tools/setup/setup.ts",
    ...process.argv.slice(2),
  ]);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
