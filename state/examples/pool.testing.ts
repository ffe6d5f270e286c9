// A pool in a folder of its own, with the exact index, for unit tests. What it made is closed and
// deleted by cleanUp().
import { copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { createExactIndexes } from "../vectors/exact.ts";
import { createPool, type PoolOptions } from "./pool.ts";
import type { ExamplePool } from "./port.ts";

const pools: ExamplePool[] = [];
const folders: string[] = [];

export async function testFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "precedent-pool-"));
  folders.push(folder);
  return folder;
}

/** An embedder of model "test" and 4 dimensions, that embeds nothing unless told how. */
export async function testPool(options: Partial<PoolOptions> = {}): Promise<ExamplePool> {
  const embedder = options.embedder ?? {
    model: "test",
    dimension: 4,
    embedAll: () => Promise.reject(new Error("this embedder embeds nothing")),
  };
  const pool = await createPool({
    openIndexes: () => Promise.resolve(createExactIndexes(embedder.dimension)),
    clusterId: "cluster",
    maxAgeMs: 86_400_000,
    log: pino({ level: "silent" }),
    pause: { first: 1, limit: 5 },
    ...options,
    embedder,
    folder: options.folder ?? (await testFolder()),
  });
  pools.push(pool);
  return pool;
}

/**
 * The folder of a living pool as a process killed right now leaves it. Without a pause, so that
 * nothing new begins to be written meanwhile: what is under way is at most one commit, which LMDB's
 * file bears (its first pages, copied first, still tell the one before), and one step of a save.
 * That step may be the rename of a file that was listed under its temporary name: it alone may be
 * gone when its turn comes, as it is for who is killed before it was made. fs.cp refuses the whole
 * copy for it.
 */
export async function copyAsKilled(folder: string): Promise<string> {
  const left = await testFolder();
  copyFiles(folder, left);
  return left;
}

function copyFiles(from: string, to: string): void {
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) {
      mkdirSync(target);
      copyFiles(source, target);
      continue;
    }
    try {
      copyFileSync(source, target);
    } catch (error) {
      const isRenamed =
        entry.name.endsWith(".tmp") && error instanceof Error && "code" in error && error.code === "ENOENT";
      if (!isRenamed) throw error;
    }
  }
}

export async function cleanUp(): Promise<void> {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
}
