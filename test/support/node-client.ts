// A client for Node whose packages are none of ours: a folder with package.json, lock file and
// script is copied into the cache and its packages installed there once, exactly as locked.
import { cp, readdir, readFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { run } from "../../connections/python/python.ts";
import { placeFolder } from "../../tools/setup/packages.ts";

/** The path of the script, beside its packages. */
export async function nodeClient(source: string, script: string, cache: string): Promise<string> {
  const hash = createHash("sha256");
  for (const file of (await readdir(source)).sort()) hash.update(await readFile(join(source, file)));
  const folder = `${cache}-${hash.digest("hex").slice(0, 12)}`;
  if (!existsSync(folder))
    await placeFolder(folder, async (fresh) => {
      await cp(source, fresh, { recursive: true });
      await run("npm", ["ci", "--prefix", fresh, "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]);
    });
  return join(folder, script);
}
