// Set-up: everything that a package manager does not bring. `npm run setup`; the demo and the tests
// call it themselves. Idempotent, quick when all is there, safe to run twice at once (one waits for
// the other), and what is made appears whole or not at all. Its parts run side by side.
import { mkdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pLimit from "p-limit";
import lockfile from "proper-lockfile";
import { messageOf } from "../algorithms/errors.ts";
import { cacheFolder } from "../config/assets.ts";
import { ensureServers, hasServers } from "../stack/install.ts";
import { buildLlama } from "./build-llama.ts";
import { buildFaissNode, buildNative } from "./build-native.ts";
import { hasEmbeddingModel, makeEmbeddingModel } from "./embedding-model.ts";
import { fetchLlamaModel, hasLlamaModel, hasRequantisedModel, makeRequantisedModel } from "./llama-model.ts";
import { createProgress, type Progress } from "./progress.ts";

export interface SetUpOptions {
  progress?: Progress;
  /** false leaves the language model and llama.cpp out. Default true. */
  llama?: boolean;
  /**
   * true builds the llama addon that computes scattered tokens in one batch as well
   * (docs/linked-prefill.md). Default false.
   */
  scattered?: boolean;
  /** false leaves the embedded servers out. Default true. */
  servers?: boolean;
  /** false leaves faiss-node out, which `selection.index: flat` needs. Default true. */
  flat?: boolean;
  /** Stack folder that the servers are linked into. Default .precedent. */
  stackFolder?: string;
}

/** What begins at once, in this order; each resolves when it is there. */
export type SetUpParts = Readonly<Record<"servers" | "embedding" | "indexes" | "llama", Promise<void>>>;

/**
 * Rejects when something that can't be done without is missing; FAISS can be (the exact index takes
 * its place).
 */
export async function setUp(options: SetUpOptions = {}): Promise<void> {
  await Promise.all(Object.values(beginSetUp(options)));
}

/** For a caller that can begin its own work with a part. */
export function beginSetUp(options: SetUpOptions = {}): SetUpParts {
  const { progress = createProgress(), llama = true, scattered = false, servers = true, flat = true } = options;
  const { stackFolder = ".precedent" } = options;
  // Much of it compiles: more at a time than there are cores would only take longer each.
  const turns = pLimit(Math.max(2, availableParallelism()));
  const part = (name: string, work: () => Promise<void>): Promise<void> => {
    const done = withLock(name, progress, () => turns(work));
    // Whoever waits for it hears of a failure; one part may fail while another is waited for.
    done.catch(() => undefined);
    return done;
  };
  return {
    servers: servers ? part("servers", () => ensureEmbeddedServers(stackFolder, progress)) : Promise.resolve(),
    embedding: part("embedding", () => ensureEmbeddingModel(progress)),
    indexes: part("indexes", () => ensureIndexes(flat, progress)),
    llama: llama ? part("llama", () => ensureLlama(progress, scattered)) : Promise.resolve(),
  };
}

const there = (name: string, progress: Progress): void => progress.line(`✓ ${name}: there`);

async function ensureEmbeddedServers(folder: string, progress: Progress): Promise<void> {
  const before = await hasServers(folder);
  // Java is asked for even when they are there.
  if (before) await ensureServers(folder);
  else await progress.task("servers", (say) => ensureServers(folder, say));
  if (before) there("servers", progress);
}

async function ensureEmbeddingModel(progress: Progress): Promise<void> {
  if (hasEmbeddingModel()) return there("embedding model", progress);
  await progress.task("embedding model", makeEmbeddingModel);
}

/** One after the other: each may have to install libfaiss, and apt-get runs once at a time. */
async function ensureIndexes(flat: boolean, progress: Progress): Promise<void> {
  const builds = [["faiss", buildNative] as const, ...(flat ? [["faiss-node", buildFaissNode] as const] : [])];
  for (const [name, build] of builds) {
    const native = await build((line) => progress.line(`  ${name}: ${line}`));
    progress.line(
      native.built
        ? `✓ ${name}: ${native.fresh ? "built" : "there"}`
        : `! ${name}: ${native.reason}\n  Going on with the exact index: right, and quick enough up to some ten thousand examples.`,
    );
  }
}

/** The model is fetched while the addon is compiled; the headers are fetched once for both. */
async function ensureLlama(progress: Progress, scattered: boolean): Promise<void> {
  const model = hasLlamaModel()
    ? Promise.resolve(there("language model", progress))
    : progress.task("language model", fetchLlamaModel);
  await Promise.all([model, ensureLlamaAddon(progress, scattered)]);
  if (hasRequantisedModel()) return there("language model as Q8_0", progress);
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

/** A part at a time on a cache folder; a dead set-up's lock is taken over after a minute. */
async function withLock(name: string, progress: Progress, work: () => Promise<void>): Promise<void> {
  const folder = cacheFolder();
  await mkdir(folder, { recursive: true });
  // A name for each part: proper-lockfile knows what a process holds by the name of what it locks.
  const part = join(folder, `setup-${name}`);
  const options = { realpath: false, stale: 60_000, update: 5_000 };
  let release: () => Promise<void>;
  try {
    release = await lockfile.lock(part, options);
  } catch {
    progress.line(`another set-up works on ${name} in ${folder}: waiting for it`);
    release = await lockfile.lock(part, {
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await setUp({ scattered: process.argv.includes("--scattered") }).catch((error: unknown) => {
    process.stderr.write(`set-up failed: ${messageOf(error)}\n`);
    process.exitCode = 1;
  });
}
