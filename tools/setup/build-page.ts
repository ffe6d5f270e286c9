// Builds the web page (gateway/page/client) into build/page, where the gateway reads it: a script
// and a style sheet by names with a hash of their contents, and the index.html that names them.
// Nothing is done where the sources are as they were.
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { pageFolder } from "../../config/assets.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const sources = join(root, "gateway/page/client");
const stampName = "built.txt";

/** Rejects with what esbuild has to say. */
export async function buildPage(): Promise<{ fresh: boolean }> {
  const folder = pageFolder();
  const stamp = join(folder, stampName);
  const identity = await fingerprint();
  if ((await readFile(stamp, "utf8").catch(() => "")) === identity) return { fresh: false };

  const { build } = await import("esbuild");
  await mkdir(folder, { recursive: true });
  const before = await readdir(folder);
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [join(sources, "main.tsx")],
    outdir: folder,
    entryNames: "[name]-[hash]",
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    metafile: true,
    logLevel: "silent",
  });
  const made = Object.keys(metafile.outputs).map((path) => basename(path));
  const named = (ending: string): string => made.find((name) => name.endsWith(ending)) ?? "";
  const template = await readFile(join(sources, "index.html"), "utf8");
  await writeFile(join(folder, "icon.svg"), await readFile(join(sources, "icon.svg")));
  const page = template.replace("main.css", named(".css")).replace("main.js", named(".js"));
  await writeWhole(join(folder, "index.html"), page);
  await writeWhole(stamp, identity);
  const kept = new Set([...made, "index.html", "icon.svg", stampName]);
  // What a running gateway serves it has in memory.
  for (const name of before) if (!kept.has(name)) await rm(join(folder, name), { force: true });
  return { fresh: true };
}

async function writeWhole(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

async function fingerprint(): Promise<string> {
  const hash = createHash("sha256");
  const entries = await readdir(sources, { recursive: true, withFileTypes: true });
  const files = entries.filter((one) => one.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const others = ["package-lock.json", "tools/setup/build-page.ts"].map((name) => join(root, name));
  for (const file of [...files.sort(), ...others])
    hash.update(`${relative(root, file)}\n`).update(await readFile(file));
  return hash.digest("hex");
}
