// Builds our addon on the prebuilt llama.cpp of @node-llama-cpp, and the program that checks its
// core, once: half a minute, because no part of llama.cpp is compiled. If the build fails, set-up
// continues without the addon and reports it.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import pLimit from "p-limit";
import { messageOf } from "../../connections/errors.ts";
import {
  llamaAddonFile,
  llamaBackendsFolder,
  llamaCheckFile,
  scatteredAddonFile,
  scatteredCheckFile,
} from "../../connections/llama/library.ts";
import type { NativeBuild } from "./build-native.ts";
import { type LlamaLibrary, llamaSources, unpackLlamaLibrary } from "./models/llama-library.ts";
import { run } from "../../connections/python/python.ts";

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL("../..", import.meta.url));
const sources = join(root, "native/llama");
const target = dirname(llamaAddonFile);

/**
 * Idempotent; `say` gets a line for every slow thing. `scattered`: what computes scattered runs in
 * one batch, as well. Never rejects for what the machine lacks.
 */
export async function buildLlama(say: (line: string) => void, { scattered = false } = {}): Promise<NativeBuild> {
  const stamp = join(target, "build.txt");
  try {
    const identity = await fingerprint();
    const files = scattered ? [scatteredAddonFile, scatteredCheckFile] : [];
    const built = [stamp, llamaAddonFile, llamaCheckFile, ...files].every((file) => existsSync(file));
    if (built && (await readFile(stamp, "utf8")) === identity) return { built: true, fresh: false };

    await mkdir(target, { recursive: true });
    const folder = await mkdtemp(join(target, "build-"));
    try {
      const library = await unpackLlamaLibrary(say, folder, ...(scattered ? ["src"] : []));
      say("building the addon on the prebuilt llama.cpp (about half a minute)");
      const made = await compile(folder, library, scattered);
      for (const { addon } of made) await tryToLoad(addon);
      // The old stamp goes first: a build cut off here is made again. A rename replaces a loaded
      // file safely.
      await rm(stamp, { force: true });
      // Built from other sources than the current ones.
      for (const file of [scatteredAddonFile, scatteredCheckFile]) await rm(file, { force: true });
      for (const { addon, check } of made) {
        await rename(addon, join(target, basename(addon)));
        await rename(check, join(target, basename(check)));
      }
      await writeFile(stamp, identity);
      return { built: true, fresh: true };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  } catch (error) {
    const why = messageOf(error);
    return { built: false, reason: `the build of the llama addon failed: ${why}; it needs g++, git, tar and npm` };
  }
}

const flags = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-fPIC"];
const addonFlags = [
  "-DNAPI_VERSION=8",
  "-DNODE_ADDON_API_CPP_EXCEPTIONS_ALL",
  "-DNODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS",
  "-DNODE_ADDON_API_DISABLE_DEPRECATED",
];

interface Made {
  addon: string;
  check: string;
}

async function compile(folder: string, library: LlamaLibrary, scattered: boolean): Promise<Made[]> {
  // The headers of the node that runs, so that none are downloaded.
  const node = resolve(dirname(process.execPath), "../include/node");
  if (!existsSync(join(node, "node_api.h"))) throw new Error(`${node} has no node_api.h`);
  const nodeIncludes = [`-I${node}`, `-I${dirname(require.resolve("node-addon-api/package.json"))}`];

  const limit = pLimit(availableParallelism());
  const objects = async (room: string, more: string[]): Promise<string[]> => {
    const files = (await readdir(join(sources, room))).filter((file) => file.endsWith(".cpp"));
    return Promise.all(
      files.map((file) =>
        limit(async () => {
          const object = join(folder, `${room}-${basename(file, ".cpp")}.o`);
          await run("g++", [...flags, ...more, ...library.includes, "-c", join(sources, room, file), "-o", object]);
          return object;
        }),
      ),
    );
  };
  const [core, binding, program] = await Promise.all([
    objects("core", []),
    objects("addon", [...addonFlags, ...nodeIncludes]),
    objects("gpu-check", []),
  ]);
  const link = async (file: string, given: string[]): Promise<string> => {
    // Relative to the file, so that a checkout may be moved.
    const path = `-Wl,-rpath,$ORIGIN/${relative(target, library.backends)}`;
    await run("g++", [...given, ...core, "-o", file, ...library.links, path, "-pthread"]);
    return file;
  };
  const linked = async (addon: string, check: string, more: string[]): Promise<Made> => ({
    addon: await link(join(folder, basename(addon)), ["-shared", ...binding, ...more]),
    check: await link(join(folder, basename(check)), [...program, ...more]),
  });
  const made = [await linked(llamaAddonFile, llamaCheckFile, [])];
  if (scattered) made.push(await linked(scatteredAddonFile, scatteredCheckFile, [await patchedBatch(folder, library)]));
  return made;
}

/**
 * llama.cpp's llama-batch.cpp with our patch. Linked into what uses libllama, its functions are
 * found before the library's own.
 */
async function patchedBatch(folder: string, library: LlamaLibrary): Promise<string> {
  const tree = ["-C", folder, "--git-dir=llama.git", "--work-tree=."];
  await run("git", [...tree, "apply", join(sources, "scattered.patch")]);
  const object = join(folder, "llama-batch.o");
  const source = join(folder, "src/llama-batch.cpp");
  await run("g++", [...flags, "-w", ...library.includes, `-I${join(folder, "src")}`, "-c", source, "-o", object]);
  return object;
}

/**
 * Loads and uses the addon in a process of its own: a broken one can abort. It lies one folder
 * deeper than where it will.
 */
async function tryToLoad(addon: string): Promise<void> {
  const beside = join(target, `${basename(addon)}.${process.pid}.tmp.node`);
  await rename(addon, beside);
  try {
    const program = `const devices = require(${JSON.stringify(beside)}).devices(${JSON.stringify(llamaBackendsFolder())}, []);
      if (devices.length === 0) throw new Error("no device")`;
    await run(process.execPath, ["-e", program], 60_000);
  } finally {
    await rename(beside, addon);
  }
}

async function fingerprint(): Promise<string> {
  const { version: library } = await llamaSources();
  const hash = createHash("sha256").update(
    [process.version, process.arch, library, relative(target, llamaBackendsFolder()), ...flags, ...addonFlags].join(
      " ",
    ),
  );
  for (const room of ["core", "addon", "gpu-check"])
    for (const file of (await readdir(join(sources, room))).sort())
      if (/\.[ch]pp$/.test(file)) hash.update(file).update(await readFile(join(sources, room, file)));
  hash.update(await readFile(join(sources, "scattered.patch")));
  return hash.digest("hex");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const scattered = process.argv.includes("--scattered");
  const result = await buildLlama((line) => process.stdout.write(`${line}\n`), { scattered });
  process.stdout.write(`${result.built ? (result.fresh ? "built" : "there") : result.reason}\n`);
  process.exitCode = result.built ? 0 : 1;
}
