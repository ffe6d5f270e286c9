// A real llama-server: the sources that set-up has, compiled against the prebuilt llama.cpp once
// (about 70 CPU seconds) and kept. Reading images is left out: its functions do nothing.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { basename, join } from "node:path";
import getPort from "get-port";
import pLimit from "p-limit";
import { cacheFolder } from "../../config/assets.ts";
import { llamaBackendsFolder } from "../../connections/llama/library.ts";
import { run } from "../../connections/python/python.ts";
import { llamaSources, unpackLlamaLibrary } from "../../tools/setup/models/llama-library.ts";

const readyWithinMs = 60_000;

/** Path of the program. Rejects where the sources, git or a compiler are missing. */
export async function builtLlamaServer(note: (text: string) => void): Promise<string> {
  const { version } = await llamaSources();
  const target = join(cacheFolder(), "packages", `llama-server-${version}`);
  const program = join(target, "llama-server");
  if (existsSync(program)) return program;
  await mkdir(target, { recursive: true });
  const folder = await mkdtemp(join(target, "build-"));
  try {
    const library = await unpackLlamaLibrary(note, folder, "common", "tools/server", "tools/mtmd", "vendor");
    note("compiling llama-server on the prebuilt llama.cpp (about 70 CPU seconds)");
    // No page is built in.
    await writeFile(
      join(folder, "ui.h"),
      `#include <array>
#include <string>
struct llama_ui_asset { std::string name; };
inline std::array<llama_ui_asset, 0> llama_ui_get_assets() { return {}; }
`,
    );
    const includes = ["", "common", "vendor", "tools/mtmd", "tools/server"].map((one) => `-I${join(folder, one)}`);
    const sources = (await readdir(join(folder, "tools/server"))).filter((file) => file.endsWith(".cpp"));
    const limit = pLimit(availableParallelism());
    const objects = await Promise.all(
      sources.map((file) =>
        limit(async () => {
          const object = join(folder, `${basename(file, ".cpp")}.o`);
          const source = join(folder, "tools/server", file);
          await run("g++", ["-std=c++17", "-O1", "-w", ...includes, ...library.includes, "-c", source, "-o", object]);
          return object;
        }),
      ),
    );
    const undefinedNames = await run("nm", ["-uP", ...objects]);
    const missing = new Set(undefinedNames.match(/^(?:_Z\d+)?mtmd_\w+/gm));
    await writeFile(join(folder, "mtmd.c"), [...missing].map((name) => `void ${name}(void) { }\n`).join(""));
    await run("gcc", ["-c", join(folder, "mtmd.c"), "-o", join(folder, "mtmd.o")]);
    const made = join(folder, "llama-server");
    const links = [...library.links, "-l:libllama-common.so", "-pthread"];
    await run("g++", [...objects, join(folder, "mtmd.o"), "-o", made, ...links]);
    await rename(made, program);
    return program;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export interface LlamaServer {
  /** Up to /v1. */
  url: string;
  stop(): Promise<void>;
}

/** flags: besides model, address and threads. Rejects when it does not answer within a minute. */
export async function startLlamaServer(program: string, model: string, flags: readonly string[]): Promise<LlamaServer> {
  const port = await getPort();
  const backends = llamaBackendsFolder();
  const own = ["--model", model, "--host", "127.0.0.1", "--port", String(port), "--threads", "1", "--no-ui"];
  const child = spawn(program, [...own, ...flags], {
    // It looks for the backend of this CPU in its working directory.
    cwd: backends,
    env: { ...process.env, LD_LIBRARY_PATH: backends },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  child.stderr.on("data", (bytes: Buffer) => (log = (log + bytes.toString()).slice(-2_000)));
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  child.once("error", (error) => (log += error.message));
  const until = performance.now() + readyWithinMs;
  while (!(await isReady(port))) {
    if (child.exitCode !== null || child.pid === undefined || performance.now() > until) {
      await stop();
      throw new Error(`llama-server does not start: ${log.trim().split("\n").slice(-3).join(" | ")}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return { url: `http://127.0.0.1:${port}/v1`, stop };
}

const isReady = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/health`).then(
    ({ ok }) => ok,
    () => false,
  );
