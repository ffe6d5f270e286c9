// Compiles entry points (commands, processes, worker threads) from TypeScript into build/: one file
// each, and chunks of shared modules. A start then reads a few files instead of translating
// hundreds. Set-up runs it, and run.mjs when a source has changed since. Each build has a folder of
// its own and becomes current once it is complete; processes on an older build keep it.
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildFolder, currentBuild, hashOf, look, root, writeStamp } from "../../connections/worker/compiled.mjs";

/** Whatever is missing here runs through tsx: right, and slower to start. */
const started = [
  "arms/llama/worker.ts",
  "bench/loop/floor-process.ts",
  "cli/main.ts",
  "connections/embedder/worker.ts",
  "connections/kv/writer.testing.ts",
  "connections/helpfulness/worker.ts",
  "connections/text/worker.ts",
  "connections/text/worker.testing.ts",
  "connections/worker/worker.testing.ts",
  "tools/demo/main.ts",
  "operators/slow-text.testing.ts",
  "tools/setup/setup.ts",
  "stack/facade/main.ts",
  "stack/registry-front.ts",
  "stack/supervisor.ts",
  "state/examples/writer.testing.ts",
  "state/vectors/worker.ts",
  "test/support/unpatched-reader.ts",
  "test/support/worker.ts",
];
/** Packages of many files that load nothing by path: read as one file, they start faster. */
const included = [
  "@clickhouse/client",
  "avsc",
  "cli-table3",
  "commander",
  "eventsource-parser",
  "lru-cache",
  "openai",
  "p-limit",
  "picocolors",
  "prom-client",
  "uuid",
  "yaml",
  "zod",
];
/** What else decides the outcome: npm writes the first with every installation. */
const decisive = ["node_modules/.package-lock.json", "tools/bin/compile.mjs", "tools/bin/spreads.mjs"];
/** Builds that stay, for processes that still run them. */
const kept = 5;

/** Throws what esbuild has to say. The new build, as currentBuild() gives it. */
export async function compile({ of = root, entries = started } = {}) {
  const esbuild = await import("esbuild");
  const { declaration, needed, settled } = await import("./spreads.mjs");
  const began = Date.now();
  const inputs = {};
  mkdirSync(buildFolder(of), { recursive: true });
  const id = randomBytes(6).toString("hex");
  const [name, folder] = [`made-${id}`, join(buildFolder(of), `making-${id}`)];
  try {
    for (const path of decisive) if (existsSync(join(of, path))) readInput(of, join(of, path), inputs);
    const present = entries.filter((entry) => existsSync(join(of, entry)));
    await esbuild.build({
      absWorkingDir: of,
      entryPoints: present,
      outbase: of,
      outdir: folder,
      bundle: true,
      splitting: true,
      platform: "node",
      format: "esm",
      target: "node20.15",
      tsconfigRaw: {},
      // Writes out groups of members, `{ ...{ a, b }, ...c }`: behind one, V8 takes microseconds for
      // each member of c.
      minifySyntax: true,
      sourcemap: "linked",
      // They stand beside it.
      sourcesContent: false,
      // What CommonJS packages call.
      banner: {
        js: `import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url); ${declaration}`,
      },
      logLevel: "silent",
      plugins: [packages, sources(of, inputs)],
    });
    if (needed) rewrite(folder, settled);
    renameSync(folder, join(buildFolder(of), name));
    const made = Object.fromEntries(present.map((entry) => [entry, entry.replace(/\.ts$/, ".js")]));
    const build = { root: of, began, folder: name, entries: made, inputs };
    writeStamp(of, build);
    removeOld(of, name);
    return build;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  } finally {
    // It runs as a process beside us, and is not needed again.
    await esbuild.stop();
  }
}

/** The current build, built if there is none; null on failure, which tsx then reports. */
export async function ensureCompiled() {
  return currentBuild() ?? (await compile().catch(() => null));
}

function rewrite(folder, by) {
  for (const path of readdirSync(folder, { recursive: true }))
    if (path.endsWith(".js")) {
      const file = join(folder, path);
      writeFileSync(file, by(readFileSync(file, "utf8")));
    }
}

const packages = {
  name: "packages",
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, ({ path, importer, kind }) => {
      if (kind === "entry-point" || importer.includes("/node_modules/")) return undefined;
      const name = path.split("/", path.startsWith("@") ? 2 : 1).join("/");
      return included.includes(name) ? undefined : { path, external: true };
    });
  },
};

/** Keeps how each source was when it was read, and lets it know its own place. */
function sources(of, inputs) {
  return {
    name: "sources",
    setup(build) {
      build.onLoad({ filter: /\.(?:ts|json)$/ }, ({ path }) => {
        const contents = readInput(of, path, inputs).toString();
        if (path.endsWith(".json")) return { contents, loader: "json" };
        const url = JSON.stringify(pathToFileURL(path).href);
        return { contents: contents.replaceAll("import.meta.url", url), loader: "ts" };
      });
    },
  };
}

/** Looked at before it is read: what changes in between is seen the next time. */
function readInput(of, file, inputs) {
  const seen = look(file);
  const contents = readFileSync(file);
  inputs[relative(of, file)] = { ...seen, hash: hashOf(contents) };
  return contents;
}

function removeOld(of, current) {
  const folders = readdirSync(buildFolder(of)).filter((name) => name.startsWith("made-") && name !== current);
  const byAge = folders.map((name) => ({ name, at: look(join(buildFolder(of), name))?.changed ?? 0 }));
  for (const { name } of byAge.sort((one, other) => other.at - one.at).slice(kept - 1))
    rmSync(join(buildFolder(of), name), { recursive: true, force: true });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await compile();
