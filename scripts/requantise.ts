// Requantises a GGUF model to Q8_0 through the prebuilt llama.cpp of node-llama-cpp: a small program is compiled against its headers
// and run once. What it wrote is loaded and checked before it is put in place, whole. Without a compiler the caller goes on without it.
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./python.ts";

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL("..", import.meta.url));

export type Requantised = { made: true } | { made: false; reason: string };

/** Never rejects: the model as it is does the same, more slowly. */
export async function requantise(
  from: string,
  to: string,
  say: (line: string) => void = () => undefined,
): Promise<Requantised> {
  const beside = `${to}.${process.pid}.tmp`;
  await mkdir(join(root, "native/build"), { recursive: true });
  const folder = await mkdtemp(join(root, "native/build/llama-"));
  try {
    say("compiling the program that does it (about 5 s)");
    const backends = prebuiltFolder();
    const program = await compile(folder, backends);
    say("requantising (about 3 s)");
    await run(program, [backends, from, beside]);
    await rename(beside, to);
    return { made: true };
  } catch (error) {
    return { made: false, reason: error instanceof Error ? error.message : String(error) };
  } finally {
    await rm(beside, { force: true });
    await rm(folder, { recursive: true, force: true });
  }
}

/** Headers come out of the git bundle that node-llama-cpp brings, so that they are those of its library. */
async function compile(folder: string, backends: string): Promise<string> {
  const bundle = join(dirname(require.resolve("node-llama-cpp")), "../llama/gitRelease.bundle");
  const repository = join(folder, "llama.git");
  const archive = join(folder, "headers.tar");
  await run("git", ["clone", "--quiet", "--bare", bundle, repository]);
  await run("git", [`--git-dir=${repository}`, "archive", `--output=${archive}`, "HEAD", "include", "ggml/include"]);
  await run("tar", ["-xf", archive, "-C", folder]);

  const program = join(folder, "requantise");
  const libraries = (await readdir(backends)).filter((file) => /^lib(llama|ggml)\.v[\d.]+\.so$/.test(file));
  if (libraries.length !== 2) throw new Error(`there is no one libllama and libggml in ${backends}`);
  await run("g++", [
    ...["-std=c++17", "-O1", join(root, "native/llama/requantise.cpp"), "-o", program],
    ...[`-I${join(folder, "include")}`, `-I${join(folder, "ggml/include")}`],
    ...[`-L${backends}`, ...libraries.map((file) => `-l:${file}`), "-lggml-base", `-Wl,-rpath,${backends}`],
  ]);
  return program;
}

/** Folder of the library that node-llama-cpp loads here, its backends beside it. */
function prebuiltFolder(): string {
  const platform = `${process.platform}-${process.arch}`;
  try {
    return resolve(dirname(require.resolve(`@node-llama-cpp/${platform}`)), "../bins", platform);
  } catch (error) {
    throw new Error(`node-llama-cpp has no prebuilt library for ${platform} in node_modules`, { cause: error });
  }
}
