// npm run demo: installs what a fresh clone lacks, then runs the demonstration.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ensurePackages, root, run } from "./bootstrap.mjs";

try {
  await ensurePackages();
  if (!existsSync(join(root, "cli", "demo.ts"))) throw new Error("cli/demo.ts is not there");
  process.exitCode = await run(process.execPath, ["--import", "tsx", "cli/demo.ts", ...process.argv.slice(2)]);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
