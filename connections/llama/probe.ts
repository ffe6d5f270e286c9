// Whether the addon works here, and its devices, asked in a process of its own: it may abort.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { llamaAddonFile, llamaBackendsFolder } from "./library.ts";
import type { Device } from "./port.ts";

/** `libraries`: of GPUs' backends. Rejects where it was not built or does not work. */
export async function probeLlama(libraries: readonly string[] = []): Promise<Device[]> {
  const program = `const [, addon, folder, ...more] = process.argv;
    process.stdout.write(JSON.stringify(require(addon).devices(folder, more)))`;
  const given = ["-e", program, llamaAddonFile, llamaBackendsFolder(), ...libraries];
  const { stdout } = await promisify(execFile)(process.execPath, given, { timeout: 30_000 });
  return JSON.parse(stdout) as Device[];
}
