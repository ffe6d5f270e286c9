// npm's client as this machine has it configured: fetches a pinned package of which only a file is
// read at build time, and checks its hash.
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../../../connections/python/python.ts";

export interface PinnedNpmPackage {
  name: string;
  version: string;
  /** As package-lock.json and the registry have it: sha512-BASE64. */
  integrity: string;
}

/**
 * Downloads a package into a folder and gives the path of its archive. Rejects when its hash is not
 * the pinned one.
 */
export async function downloadPackage(wanted: PinnedNpmPackage, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const named = `${wanted.name}@${wanted.version}`;
  // Under npm run, the npm that runs; it may be a script of another node.
  const npm = process.env["npm_execpath"];
  const [command, first] = npm?.endsWith(".js") === true ? [process.execPath, [npm]] : ["npm", []];
  await run(command, [...first, "pack", named, "--pack-destination", folder, "--ignore-scripts", "--silent"]);
  const file = (await readdir(folder)).find((entry) => entry.endsWith(".tgz"));
  if (file === undefined) throw new Error(`npm brought no archive of ${named}`);
  const path = join(folder, file);
  const found = `sha512-${createHash("sha512")
    .update(await readFile(path))
    .digest("base64")}`;
  if (found !== wanted.integrity)
    throw new Error(`the archive of ${named} is not the pinned one: ${found} instead of ${wanted.integrity}`);
  return path;
}
