// A pool of generated examples for measurements: opened as stages do, filled once and kept.
import { join } from "node:path";
import { exampleId, sharingDomain } from "../../algorithms/identity/identity.ts";
import { embeddingToBytes } from "../../algorithms/selection/embedding.ts";
import { createLog } from "../../runtime/log.ts";
import type { Example } from "../../schemas/types.ts";
import { createPool } from "../../state/examples/pool.ts";
import type { Candidate, ExamplePool } from "../../state/examples/port.ts";
import { createFaissIndexes } from "../../state/vectors/faiss.ts";
import type { BenchContext } from "../benchmark.ts";
import { examplePairs, readPairs, type Pair } from "../loop/history.ts";
import { dimension, readRows, row, type VectorFiles } from "./data.ts";

const atOnce = 2_000;
export const tenant = "default";
export const domain = sharingDomain(tenant, null);
const log = createLog({ level: "error" });

export const poolFolder = ({ folder }: Pick<BenchContext, "folder">, name: string): string =>
  join(folder, `pool-${name}`);

/** onIndexes: called with the id of the index process. */
export function openPool(folder: string, onIndexes: (pid: number) => void = () => undefined): Promise<ExamplePool> {
  return createPool({
    folder,
    embedder: { model: "generated", dimension, embedAll: () => Promise.reject(new Error("nothing to embed here")) },
    async openIndexes() {
      const indexes = await createFaissIndexes(dimension, { log });
      onIndexes(indexes.pid);
      return indexes;
    },
    clusterId: "bench",
    maxAgeMs: Number.MAX_SAFE_INTEGER,
    log,
  });
}

/** Examples a second. Kept for later runs. */
export async function fillPool(
  { progress, signal }: BenchContext,
  name: string,
  files: VectorFiles,
  pool: ExamplePool,
): Promise<number> {
  const pairs = texts();
  const bar = progress(`${name}: filling the pool (kept for later runs)`, files.n, "examples");
  const from = Number(pool.position(0) ?? 0n);
  const began = performance.now();
  for (let done = from; done < files.n; done += atOnce) {
    signal.throwIfAborted();
    const rows = await readRows(files.vectors, done, Math.min(files.n, done + atOnce));
    const examples = Array.from({ length: rows.length / dimension }, (_, i) =>
      exampleOf(pairs[(done + i) % pairs.length]!, done + i, row(rows, i)),
    );
    await pool.apply(
      0,
      examples.map((value) => ({ id: value.id, domain, value })),
      BigInt(done + examples.length),
    );
    bar.update(done);
  }
  bar.finish();
  await indexesBuilt(pool);
  return (files.n - from) / ((performance.now() - began) / 1_000);
}

/**
 * Whether its indexes were restored: one that was built here from the store was swapped in, or is
 * too small for clusters and for a file.
 */
export const fromFile = (pool: ExamplePool): boolean =>
  pool.figures().indexes.every(({ figures }) => figures.swaps === 0 && figures.kind === "ivf");

/** Until they are built; closing the pool writes their files. */
export async function indexesBuilt(pool: ExamplePool): Promise<void> {
  const settled = (): boolean => pool.figures().indexes.every(({ figures }) => !figures.building);
  do await new Promise((resolve) => setTimeout(resolve, 2_000));
  while (!settled());
}

export const texts = (): Pair[] =>
  examplePairs(readPairs(new URL("../../deploy/shell-pairs.jsonl", import.meta.url)), 3_000);

function exampleOf({ request, response }: Pair, i: number, vector: Float32Array): Example {
  const own = `${request} (${i})`;
  return {
    id: exampleId(domain, own, response),
    ...{ tenant, domain, request: own, response },
    embedding: embeddingToBytes(vector),
    embeddingModel: "generated",
    source: { arm: "large", model: "large", requestId: null },
    quality: 0.5 + (i % 50) / 100,
    bytes: own.length + response.length + 2 * dimension,
    expiresAt: null,
    replays: 0,
    createdAt: 1_700_000_000_000,
  };
}

/** Row of the vectors that an example was made of. */
export const numberOf = ({ example }: Candidate): number => Number(/\((\d+)\)$/.exec(example.request)?.[1]);
