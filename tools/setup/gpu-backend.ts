// Backends of llama.cpp for GPUs, fetched only when asked: of each package one library is kept. It
// works beside the libraries of the CPU (their libggml-base is the same file).
import { existsSync } from "node:fs";
import { readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type GpuBackend, gpuLibraryFile } from "../../connections/llama/library.ts";
import { run } from "../../connections/python/python.ts";
import { downloadPackage, type PinnedNpmPackage } from "./models/npm-package.ts";
import { placeFolder } from "./packages.ts";

const pinned = fileURLToPath(new URL("../../native/llama/backends.json", import.meta.url));

/** By platform and backend; of the version of the CPU's libraries. */
export const gpuPackages = async (): Promise<Record<string, Record<GpuBackend, PinnedNpmPackage>>> =>
  JSON.parse(await readFile(pinned, "utf8")) as Record<string, Record<GpuBackend, PinnedNpmPackage>>;

/**
 * false: it was there. Only under the set-up lock. Rejects where it can't be fetched, or is not the
 * pinned one.
 */
export async function fetchGpuBackend(backend: GpuBackend, say: (line: string) => void): Promise<boolean> {
  const library = gpuLibraryFile(backend);
  if (existsSync(library)) return false;
  const platform = `${process.platform}-${process.arch}`;
  const wanted = (await gpuPackages())[platform]?.[backend];
  if (wanted === undefined)
    throw new Error(`llama.cpp is not published for ${backend} on ${platform}: arms of type llama need device: cpu`);
  say(`fetching ${wanted.name} ${wanted.version}`);
  await placeFolder(dirname(library), async (folder) => {
    const archive = await downloadPackage(wanted, folder);
    const inside = `package/bins/${basename(wanted.name)}/${basename(library)}`;
    await run("tar", ["-xzf", archive, "-C", folder, inside]);
    await rename(join(folder, inside), join(folder, basename(library)));
    await rm(join(folder, "package"), { recursive: true });
    await rm(archive);
  });
  return true;
}
