// Commands of Python as the machine has it configured, and a private environment where a script
// needs libraries that are not there.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { succeeds } from "../errors.ts";
import { withMutex } from "../process/lock.ts";

const execute = promisify(execFile);

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

/** A python with these modules: the machine's, else a private one in `folder`. */
export async function pythonWith(
  modules: readonly string[],
  packages: readonly string[],
  folder: string,
  say: (line: string) => void,
): Promise<string> {
  const imports = (python: string): Promise<boolean> =>
    succeeds(run(python, ["-c", `import ${modules.join(", ")}`], 180_000));
  if (await imports("python3")) return "python3";
  const python = join(folder, "bin", "python");
  const isMade = async (): Promise<boolean> => existsSync(python) && (await imports(python));
  if (!(await isMade()))
    // Tests that start together want the same one.
    await withMutex(dirname(folder), basename(folder), async () => ((await isMade()) ? undefined : make()), 900_000);
  return python;

  async function make(): Promise<void> {
    say(`making a Python environment with ${packages.join(", ")}`);
    // Whole or not at all: this process may be ended.
    const beside = `${folder}.${process.pid}.tmp`;
    try {
      await run("python3", ["-m", "venv", beside]);
      const options = ["--quiet", "--no-cache-dir", "--no-compile"];
      await run(join(beside, "bin", "python"), ["-m", "pip", "install", ...options, ...packages]);
      await rm(folder, { recursive: true, force: true });
      await rename(beside, folder);
    } finally {
      await rm(beside, { recursive: true, force: true });
    }
  }
}

export async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
