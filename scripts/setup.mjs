// npm run setup: packages first, then models, servers and the native library (setup.ts).
import { ensurePackages, run } from "./bootstrap.mjs";

try {
  await ensurePackages();
  process.exitCode = await run(process.execPath, ["bin/run.mjs", "scripts/setup.ts", ...process.argv.slice(2)]);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
