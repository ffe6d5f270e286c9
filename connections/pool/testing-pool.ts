// A pool in a folder of its own, with the exact index, for unit tests. What it made is closed and deleted by cleanUp().
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
    pause: { first: 1, last: 5 },
    ...options,
    embedder,
    folder: options.folder ?? (await testFolder()),
  });
  pools.push(pool);
  return pool;
}

export async function cleanUp(): Promise<void> {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
}
