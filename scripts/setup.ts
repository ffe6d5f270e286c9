// Set-up: everything that a package manager does not bring. `npm run setup`; the demo and the tests
// call setUp() themselves. Idempotent, quick when all is there, safe to run twice at once (one
// waits for the other), and what is made appears whole or not at all.
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import lockfile from "proper-lockfile";
import { messageOf } from "../algorithms/errors.ts";
import { cacheFolder } from "../config/assets.ts";
import { buildLlama } from "./build-llama.ts";
import { buildFaissNode, buildNative } from "./build-native.ts";
import { hasEmbeddingModel, makeEmbeddingModel } from "./embedding-model.ts";
import { fetchLlamaModel, hasLlamaModel, hasRequantisedModel, makeRequantisedModel } from "./llama-model.ts";
import { createProgress, type Progress } from "./progress.ts";

export interface SetUpOptions {
  progress?: Progress;
  /** false leaves the language model out. Default true. */
  llama?: boolean;
  /**
   * true builds the llama addon that computes scattered tokens in one batch as well
   * (docs/linked-prefill.md). Default false.
   */
  scattered?: boolean;
  /** false leaves the embedded servers out. Default true. */
  servers?: boolean;
  /** Stack folder that the servers are linked into. Default .precedent. */
  stackFolder?: string;
}

/**
 * Rejects when something that can't be done without is missing; FAISS can be (the exact index takes
 * its place).
 */
export async function setUp(options: SetUpOptions = {}): Promise<void> {
  const { progress = createProgress(), llama = true, scattered = false, servers = true } = options;
  const { stackFolder = ".precedent" } = options;
  await withLock(progress, async () => {
    await ensureIndexes(progress);
    if (hasEmbeddingModel()) progress.line("✓ embedding model: there");
    else await progress.task("embedding model", makeEmbeddingModel, (folder) => folder);
    if (llama) {
      await ensureLanguageModel(progress);
      await ensureLlamaAddon(progress, scattered);
    } else progress.line("✓ language model: not asked for");
    if (servers) await ensureEmbeddedServers(stackFolder, progress);
  });
}

async function ensureIndexes(progress: Progress): Promise<void> {
  for (const [name, build] of [["faiss", buildNative] as const, ["faiss-node", buildFaissNode] as const]) {
    const native = await build((line) => progress.line(`  ${name}: ${line}`));
    progress.line(
      native.built
        ? `✓ ${name}: ${native.fresh ? "built" : "there"}`
        : `! ${name}: ${native.reason}\n  Going on with the exact index: right, and quick enough up to some ten thousand examples.`,
    );
  }
}

async function ensureLanguageModel(progress: Progress): Promise<void> {
  if (hasLlamaModel()) progress.line("✓ language model: there");
  else await progress.task("language model", fetchLlamaModel, (file) => file);
  if (hasRequantisedModel()) return progress.line("✓ language model as Q8_0: there");
  const made = await makeRequantisedModel((line) => progress.line(`  language model as Q8_0: ${line}`));
  progress.line(
    made.made
      ? "✓ language model as Q8_0: made"
      : `! language model as Q8_0: ${made.reason}\n  Going on with the model as fetched: as good, and half as fast.`,
  );
}

async function ensureLlamaAddon(progress: Progress, scattered: boolean): Promise<void> {
  const built = await buildLlama((line) => progress.line(`  llama.cpp: ${line}`), { scattered });
  progress.line(
    built.built
      ? `✓ llama.cpp: ${built.fresh ? "built" : "there"}`
      : `! llama.cpp: ${built.reason}\n  Going on without it: arms of type llama can't start.`,
  );
}

/** One set-up at a time on a cache folder; a dead one's lock is taken over after a minute. */
async function withLock(progress: Progress, work: () => Promise<void>): Promise<void> {
  const folder = cacheFolder();
  await mkdir(folder, { recursive: true });
  const options = { lockfilePath: join(folder, "setup.lock"), stale: 60_000, update: 5_000 };
  let release: () => Promise<void>;
  try {
    release = await lockfile.lock(folder, options);
  } catch {
    progress.line(`another set-up works on ${folder}: waiting for it`);
    release = await lockfile.lock(folder, {
      ...options,
      retries: { retries: 600, factor: 1, minTimeout: 1_000, maxTimeout: 1_000 },
    });
  }
  try {
    await work();
  } finally {
    await release();
  }
}

/** The embedded servers install themselves, with a progress of their own. */
async function ensureEmbeddedServers(folder: string, progress: Progress): Promise<void> {
  const module = new URL("../stack/install.ts", import.meta.url);
  if (!existsSync(module)) return;
  const { ensureServers } = (await import(module.href)) as { ensureServers(folder: string): Promise<unknown> };
  await ensureServers(folder);
  progress.line("✓ servers: there");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await setUp({ scattered: process.argv.includes("--scattered") }).catch((error: unknown) => {
    process.stderr.write(`set-up failed: ${messageOf(error)}\n`);
    process.exitCode = 1;
  });
}
