// bench -- selection --only memory: what two processes hold for a pool of 100,000 and a million
// examples, opened from disk and searched as plan does: the pool's and its index's. Anonymous
// memory stands apart from mapped pages of the store, which the system takes back.
import { connectWorker } from "../../connections/worker/rpc.ts";
import { buildNative } from "../../tools/setup/build-native.ts";
import type { BenchContext, Measured } from "../benchmark.ts";
import { resident } from "../support/processes.ts";
import { quantile, significant } from "../support/statistics.ts";
import { dimension, generatedVectors, type VectorFiles } from "./data.ts";
import type { Row } from "./measure.ts";
import { exactOurs, k, searchOurs } from "./ours.ts";
import { recall } from "./peers.ts";
import { fillPool, openPool, poolFolder } from "./pool.ts";
import type { PoolMethods } from "./pool-methods.ts";

const searches = 400;
const mebibyte = 1024 * 1024;

export async function runMemory(context: BenchContext): Promise<Measured> {
  const made = await buildNative(context.note);
  if (!made.built) throw new Error(made.reason);
  const rows: Row[] = [];
  for (const n of context.quick ? [100_000] : [100_000, 1_000_000]) {
    const files = await generatedVectors(context, n);
    rows.push(await context.checkpoints.part(`memory-${n}`, () => measure(context, files)));
  }
  return { part: "memory", figures: { dimension, k, searches, ...rows.at(-1), rows } };
}

async function measure(context: BenchContext, files: VectorFiles): Promise<Row> {
  const name = `generated-${files.n}`;
  const folder = poolFolder(context, name);
  const filling = await openPool(folder);
  if (filling.position(0) !== BigInt(files.n)) await fillPool(context, name, files, filling);
  await filling.close();
  const worker = connectWorker<PoolMethods>({
    ...{ name: "pool", entry: new URL("./pool-worker.ts", import.meta.url), data: null, isolation: "process" },
  });
  try {
    const { pid, indexPid, seconds } = await worker.call("open", folder);
    const queries = files.queries.slice(0, searches * dimension);
    context.note(`${name}: ${searches} searches`);
    const { numbers, ms } = await worker.call("search", { queries, k });
    const { heap, external } = await worker.call("heap", null);
    const [pool, index] = [resident(pid), resident(indexPid)];
    const found = Array.from(ms, (_, i) => numbers.slice(i * k, (i + 1) * k));
    await worker.call("close", null);
    return {
      n: files.n,
      recall_at_32: significant(recall(await truth(files), found)),
      nearest_p50_ms: significant(quantile([...ms], 0.5)),
      nearest_p99_ms: significant(quantile([...ms], 0.99)),
      restore_s: significant(seconds),
      pool_anonymous_mib: significant(pool.anonymous),
      pool_mapped_mib: significant(pool.mapped),
      pool_heap_mib: significant(heap / mebibyte),
      pool_external_mib: significant(external / mebibyte),
      index_anonymous_mib: significant(index.anonymous),
      index_mapped_mib: significant(index.mapped),
      anonymous_mib: significant(pool.anonymous + index.anonymous),
      resident_mib: significant(pool.now + index.now),
    };
  } finally {
    await worker.close(5_000);
  }
}

async function truth(files: VectorFiles): Promise<Uint32Array[]> {
  const { indexes, index } = await exactOurs(files);
  try {
    return (await searchOurs(index, files.queries, 0, searches)).keys;
  } finally {
    await indexes.close();
  }
}
