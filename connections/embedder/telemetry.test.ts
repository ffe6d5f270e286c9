// The real onnxruntime, in a process of its own: telemetry is set up once, when it is loaded.
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

/** It sends nothing where one of these says that it runs in CI. */
const ofCi = ["CI", "TF_BUILD", "GITHUB_ACTIONS", "GITLAB_CI", "TRAVIS", "CIRCLECI", "BUILDKITE"];

it("onnxruntime has no telemetry in a worker: it leaves no id of the machine", { timeout: 60_000 }, async () => {
  const home = await mkdtemp(join(tmpdir(), "precedent-telemetry-"));
  const script = fileURLToPath(new URL("telemetry.testing.ts", import.meta.url));
  const run = async (...args: string[]): Promise<string[]> => {
    const env = { ...process.env, HOME: home };
    for (const name of [...ofCi, "ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME"]) Reflect.deleteProperty(env, name);
    await promisify(execFile)(process.execPath, ["--import", "tsx", script, ...args], { env });
    return readdir(home);
  };
  try {
    expect(await run()).toEqual([]);
    expect(await run("enabled")).not.toEqual([]);
  } finally {
    await rm(home, { recursive: true });
  }
});
