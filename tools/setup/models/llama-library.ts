// What a program needs to be compiled against the prebuilt llama.cpp of @node-llama-cpp: the
// libraries to link with, and their headers, which lie in a git bundle of the package
// node-llama-cpp. Only that file of it is used, so set-up fetches it once.
import { existsSync } from "node:fs";
import { readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "../../../config/assets.ts";
import { llamaBackendsFolder } from "../../../connections/llama/library.ts";
import { downloadPackage, type PinnedNpmPackage } from "./npm-package.ts";
import { run } from "../../../connections/python/python.ts";
import { placeFolder } from "../packages.ts";

const pinned = fileURLToPath(new URL("../../../native/llama/llama.cpp.json", import.meta.url));

/** The package that holds the sources; of the version of the prebuilt libraries. */
export const llamaSources = async (): Promise<PinnedNpmPackage> =>
  JSON.parse(await readFile(pinned, "utf8")) as PinnedNpmPackage;

export interface LlamaLibrary {
  /** Include folders, as compiler options. */
  includes: string[];
  /** Linker options; the search path at run time is left to the caller. */
  links: string[];
  /** Folder of the libraries. */
  backends: string;
}

/** Path of the git bundle; fetches it where it is not there. Only under the set-up lock. */
async function llamaBundle(say: (line: string) => void): Promise<string> {
  const sources = await llamaSources();
  const bundle = join(cacheFolder(), "packages", `${sources.name}-${sources.version}`, "gitRelease.bundle");
  if (existsSync(bundle)) return bundle;
  say("fetching its headers (35 MB)");
  await placeFolder(dirname(bundle), async (folder) => {
    const archive = await downloadPackage(sources, folder);
    await run("tar", ["-xzf", archive, "-C", folder, "package/llama/gitRelease.bundle"]);
    await rename(join(folder, "package/llama/gitRelease.bundle"), join(folder, "gitRelease.bundle"));
    await rm(join(folder, "package"), { recursive: true });
    await rm(archive);
  });
  return bundle;
}

/**
 * Puts the headers (and `more` folders of the sources) into `folder`. Rejects where they can't be
 * fetched or git is missing.
 */
export async function unpackLlamaLibrary(
  say: (line: string) => void,
  folder: string,
  ...more: string[]
): Promise<LlamaLibrary> {
  const backends = llamaBackendsFolder();
  const bundle = await llamaBundle(say);
  const repository = join(folder, "llama.git");
  const archive = join(folder, "headers.tar");
  await run("git", ["clone", "--quiet", "--bare", bundle, repository]);
  const wanted = ["include", "ggml/include", ...more];
  await run("git", [`--git-dir=${repository}`, "archive", `--output=${archive}`, "HEAD", ...wanted]);
  await run("tar", ["-xf", archive, "-C", folder]);

  const libraries = (await readdir(backends)).filter((file) => /^lib(llama|ggml)\.v[\d.]+\.so$/.test(file));
  if (libraries.length !== 2) throw new Error(`there is no one libllama and libggml in ${backends}`);
  return {
    includes: [`-I${join(folder, "include")}`, `-I${join(folder, "ggml/include")}`],
    links: [`-L${backends}`, ...libraries.map((file) => `-l:${file}`), "-lggml-base"],
    backends,
  };
}
