// Commands of Python as the machine has it configured, and a private environment where a script
// needs libraries that are not there.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

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
  const imports = async (python: string): Promise<boolean> =>
    run(python, ["-c", `import ${modules.join(", ")}`], 60_000).then(
      () => true,
      () => false,
    );
  if (await imports("python3")) return "python3";
  const python = join(folder, "bin", "python");
  if (existsSync(python) && (await imports(python))) return python;
  say(`making a Python environment with ${packages.join(", ")}`);
  // Whole or not at all: others may make the same one.
  const beside = `${folder}.${process.pid}.tmp`;
  try {
    await run("python3", ["-m", "venv", beside]);
    await run(join(beside, "bin", "python"), [
      "-m",
      "pip",
      "install",
      "--quiet",
      "--no-cache-dir",
      "--no-compile",
      ...packages,
    ]);
    if (!existsSync(python) || !(await imports(python))) {
      await rm(folder, { recursive: true, force: true });
      await rename(beside, folder);
    }
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
  return python;
}

export async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
