// Builds our FAISS addon (native/faiss) against the system's libfaiss, once. If the build fails,
// the caller continues with the exact index and reports it. The addons of native/peers are built in
// the same way, on request of a benchmark.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL("../..", import.meta.url));
const built = (name: string): string => join(root, "native/build", `${name}.node`);
/** Where state/vectors/native.ts looks for it. */
export const faissAddonFile = built("precedent-faiss");
/** What bench -- selection compares with. */
export const flatAddonFile = built("flat");
export const hnswlibAddonFile = built("hnswlib");

const debianPackages = ["libfaiss-dev", "libopenblas-dev", "g++", "make", "python3"];

export type NativeBuild = { built: true; fresh: boolean } | { built: false; reason: string };

interface Addons {
  name: string;
  /** Folders whose files are put together and built; the first holds binding.gyp. */
  sources: readonly string[];
  /** Files that come out of it, by faissAddonFile and the like. */
  targets: readonly string[];
  /** Shows in a process of its own that they can be loaded and used: a broken one can abort. */
  trial: string;
}

/** Idempotent; `say` gets a line for every slow thing. Never rejects for what the machine lacks. */
export const buildNative = (say: (line: string) => void): Promise<NativeBuild> =>
  build(say, {
    name: "FAISS addon",
    sources: [join(root, "native/faiss")],
    targets: [faissAddonFile],
    trial: `const { Index } = require("./precedent-faiss.node"); const index = new Index(2);
      index.add(Uint32Array.of(7, 8), Float32Array.of(1, 0, 0, 1)).then(() => {
        if (index.search(Float32Array.of(0, 1), 1, 1).keys[0] !== 8) throw new Error("wrong neighbour"); });`,
  });

/** Only for bench -- selection. */
export const buildPeers = (say: (line: string) => void): Promise<NativeBuild> =>
  build(say, {
    name: "peers' addons",
    sources: [join(root, "native/peers"), join(dirname(require.resolve("hnswlib-node/package.json")), "src")],
    targets: [flatAddonFile, hnswlibAddonFile],
    trial: `new (require("./flat.node").Flat)(2); new (require("./hnswlib.node").HierarchicalNSW)("ip", 2)`,
  });

async function build(say: (line: string) => void, { name, sources, targets, trial }: Addons): Promise<NativeBuild> {
  const stamp = `${targets[0]!}.txt`;
  const identity = await fingerprint(sources);
  if (existsSync(stamp) && (await readFile(stamp, "utf8")) === identity && targets.every(existsSync))
    return { built: true, fresh: false };

  const missing = await installSystemPackages(say);
  if (missing !== null) return { built: false, reason: missing };

  say(`building the ${name} against the system's libfaiss (about 30 s)`);
  await mkdir(join(root, "native/build"), { recursive: true });
  const folder = await mkdtemp(join(root, "native/build/addon-"));
  try {
    for (const source of sources) await cp(source, folder, { recursive: true });
    // The headers of the node that runs, so that node-gyp downloads none.
    const nodePrefix = resolve(dirname(process.execPath), "..");
    const nodeGyp = require.resolve("node-gyp/bin/node-gyp.js");
    await run(process.execPath, [nodeGyp, "rebuild", `--nodedir=${nodePrefix}`], {
      cwd: folder,
      timeout: 300_000,
      maxBuffer: 32 * 1_048_576,
    });
    const made = join(folder, "build/Release");
    await run(process.execPath, ["-e", trial], { cwd: made, timeout: 30_000 });
    // A rename replaces a loaded file safely.
    for (const target of targets) await rename(join(made, basename(target)), target);
    await writeFile(stamp, identity);
    return { built: true, fresh: true };
  } catch (error) {
    return { built: false, reason: `the build of the ${name} failed: ${complaint(error)}` };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function fingerprint(sources: readonly string[]): Promise<string> {
  const hash = createHash("sha256").update(`${process.version} ${process.arch}`);
  for (const source of sources)
    for (const file of await readdir(source, { recursive: true, withFileTypes: true }))
      if (file.isFile()) hash.update(file.name).update(await readFile(join(file.parentPath, file.name)));
  return hash.digest("hex");
}

/** Null when everything is there now, else what is missing and what to do. */
async function installSystemPackages(say: (line: string) => void): Promise<string | null> {
  const lacking = await lackingTools();
  if (lacking.length === 0) return null;
  const advice = `install them with: apt-get install ${debianPackages.join(" ")}`;
  if (process.getuid?.() !== 0) return `${lacking.join(", ")} missing and this user is not root; ${advice}`;
  say(`installing ${debianPackages.join(", ")} (${lacking.join(", ")} missing)`);
  const environment = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  try {
    await run("apt-get", ["update", "-q"], { env: environment, timeout: 180_000, maxBuffer: 32 * 1_048_576 });
    await run("apt-get", ["install", "-y", "-q", "--no-install-recommends", ...debianPackages], {
      env: environment,
      timeout: 300_000,
      maxBuffer: 32 * 1_048_576,
    });
  } catch (error) {
    return `apt-get could not install ${lacking.join(", ")}: ${complaint(error)}; ${advice}`;
  }
  const still = await lackingTools();
  return still.length === 0 ? null : `${still.join(", ")} still missing after apt-get; ${advice}`;
}

/** Asked of the compiler itself, so that libraries installed in another way count too. */
async function lackingTools(): Promise<string[]> {
  const works = async (command: string, ...given: string[]): Promise<boolean> =>
    run(command, given, { timeout: 30_000 }).then(
      () => true,
      () => false,
    );
  const header = (name: string): Promise<boolean> =>
    works("sh", "-c", `echo '#include <${name}>' | g++ -std=c++17 -fsyntax-only -x c++ -`);
  const lacking: string[] = [];
  if (!(await works("make", "--version"))) lacking.push("make");
  if (!(await works("python3", "--version"))) lacking.push("python3");
  if (!(await works("g++", "--version"))) return [...lacking, "g++", "libfaiss"];
  if (!(await header("faiss/IndexIVF.h"))) lacking.push("libfaiss");
  if (!(await works("sh", "-c", "echo 'int main(){}' | g++ -x c++ - -lopenblas -o /dev/null")))
    lacking.push("openblas");
  return lacking;
}

/**
 * What a compiler or apt-get complained about: its first errors where it names them, else its last
 * lines.
 */
function complaint(error: unknown): string {
  const output = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
  const lines = (output === "" ? String(error) : output).split("\n").filter((line) => !line.startsWith("gyp "));
  const errors = lines.filter((line) => /error|^E:/i.test(line));
  return (errors.length > 0 ? errors.slice(0, 3) : lines.slice(-3)).join(" | ");
}
