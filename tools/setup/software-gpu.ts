// Mesa's software Vulkan and the Vulkan backend, for the tests of arms on a GPU (npm test). They
// are installed where that is allowed (root, apt); else those tests are skipped. Never fails.
import { existsSync, readdirSync } from "node:fs";
import { messageOf } from "../../connections/errors.ts";
import { run } from "../../connections/python/python.ts";
import { fetchGpuBackend } from "./gpu-backend.ts";
import { withLock } from "./models/lock.ts";

const packages = ["mesa-vulkan-drivers", "libvulkan1"];

const hasDriver = (): boolean =>
  ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"].some(
    (folder) => existsSync(folder) && readdirSync(folder).some((file) => file.startsWith("lvp_icd")),
  );

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function ensureSoftwareGpu(): Promise<void> {
  if (!hasDriver()) {
    if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get"))
      throw new Error(`as root: apt-get install --no-install-recommends ${packages.join(" ")}`);
    const quiet = ["-qq", "-o", "Dpkg::Use-Pty=0"];
    process.env["DEBIAN_FRONTEND"] = "noninteractive";
    const install = ["install", ...quiet, "-y", "--no-install-recommends", ...packages];
    await run("apt-get", install).catch(async () => {
      await run("apt-get", ["update", ...quiet]);
      await run("apt-get", install);
    });
  }
  await fetchGpuBackend("vulkan", () => undefined);
}

try {
  await withLock("gpu-vulkan", say, ensureSoftwareGpu);
  say("✓ software Vulkan: there");
} catch (error) {
  const why = messageOf(error).split("\n")[0];
  say(`! software Vulkan: ${why}\n  Going on without it: tests of arms on a GPU are skipped.`);
}
