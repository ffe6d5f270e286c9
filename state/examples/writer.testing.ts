// A process that writes to a pool until it is killed: the partition's row n puts example n % 50, or
// takes it away when n is a multiple of 7. Says the position after every batch. Run as: node
// tools/bin/run.mjs writer.testing.ts FOLDER
import { pathToFileURL } from "node:url";
import { pino } from "pino";
import { createExactIndexes } from "../vectors/exact.ts";
import { createPool, type PoolOptions } from "./pool.ts";
import { anExample, axis } from "./examples.testing.ts";
import type { ExampleChange } from "./port.ts";

export const examplesInTurn = 50;

export function rowAt(offset: number): ExampleChange {
  const number = offset % examplesInTurn;
  const value = anExample({
    id: `e${number}`,
    domain: `acme/${number % 3}`,
    request: `row ${offset}`,
    vector: axis(offset % 4),
  });
  return { id: value.id, domain: value.domain, value: offset % 7 === 0 ? null : value };
}

export const writerOptions = (folder: string): PoolOptions => ({
  folder,
  embedder: { model: "test", dimension: 4, embedAll: () => Promise.reject(new Error("not asked")) },
  openIndexes: () => Promise.resolve(createExactIndexes(4)),
  clusterId: "cluster",
  maxAgeMs: 86_400_000,
  log: pino({ level: "silent" }),
  save: { everyMs: 5, examples: 1, changes: 1 },
});

async function write(folder: string): Promise<void> {
  const pool = await createPool(writerOptions(folder));
  for (let next = Number(pool.position(0) ?? 0n); ; next += 40) {
    const rows = Array.from({ length: 40 }, (_, i) => rowAt(next + i));
    await pool.apply(0, rows, BigInt(next + 40));
    process.stdout.write(`${next + 40}\n`);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await write(process.argv[2] ?? "");
