// What a program needs to be compiled against the prebuilt llama.cpp of node-llama-cpp: its headers, which lie in a git bundle of the
// package, and the libraries to link with.
import { readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { llamaBackendsFolder } from "../connections/llama/library.ts";
import { run } from "./python.ts";

const require = createRequire(import.meta.url);

export interface LlamaLibrary {
  /** Of the headers, as compiler options. */
  includes: string[];
  /** Linker options; the search path at run time is left to the caller. */
  links: string[];
  /** Folder of the libraries. */
  backends: string;
}

/** Puts the headers (and `more` folders of the sources) into `folder`. Rejects where the package or git is missing. */
export async function unpackLlamaLibrary(folder: string, ...more: string[]): Promise<LlamaLibrary> {
  const backends = llamaBackendsFolder();
  const bundle = join(dirname(require.resolve("node-llama-cpp")), "../llama/gitRelease.bundle");
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
