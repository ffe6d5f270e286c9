// Both stages on a pool of n examples: nearest of the domain from the index, vectors and texts from
// the store, features, one call of an ONNX model for two arms, each arm's choice. Everything that
// select does for a request but its embedding, which others measure.
import { join } from "node:path";
import { embeddingToBytes } from "../../algorithms/selection/embedding.ts";
import { HELPFULNESS_FEATURES } from "../../algorithms/selection/helpfulness-features.ts";
import { exampleId, sharingDomain } from "../../algorithms/identity/identity.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { parseConfig } from "../../config/load.ts";
import { createPool } from "../../state/examples/pool.ts";
import type { ExamplePool } from "../../state/examples/port.ts";
import { createFaissIndexes } from "../../state/vectors/faiss.ts";
import type { HelpfulnessRow } from "../../connections/training/helpfulness.ts";
import { createSelection, type SelectArm } from "../../operators/select/selection.ts";
import { createLog } from "../../runtime/log.ts";
import { plainRequest } from "../../schemas/plain-request.ts";
import type { Example } from "../../schemas/types.ts";
import type { BenchContext } from "../benchmark.ts";
import { benchHelpfulnessModel } from "../helpfulness/model.ts";
import { examplePairs, readPairs, type Pair } from "../loop/history.ts";
import { watchCollections } from "../support/collections.ts";
import { ownCpuSeconds, resident } from "../support/processes.ts";
import { quantile, significant } from "../support/statistics.ts";
import { dimension, readRows, row, rowsIn, type VectorFiles } from "./data.ts";
import type { Row } from "./measure.ts";

const atOnce = 2_000;
const tenant = "default";
const domain = sharingDomain(tenant, null);
const log = createLog({ level: "error" });

export async function measureBoth(
  context: BenchContext,
  name: string,
  files: VectorFiles,
  searches: number,
): Promise<Row> {
  const { model, kind } = await benchHelpfulnessModel(context, helpfulnessRows());
  const open = (): Promise<ExamplePool> =>
    createPool({
      folder: join(context.folder, `pool-${name}`),
      embedder: { model: "generated", dimension, embedAll: () => Promise.reject(new Error("nothing to embed here")) },
      openIndexes: () => createFaissIndexes(dimension, { log }),
      clusterId: "bench",
      maxAgeMs: Number.MAX_SAFE_INTEGER,
      log,
    });
  let restoring = performance.now();
  let pool = await open();
  try {
    if (pool.position(0) === BigInt(files.n) && !fromFile(pool)) {
      context.note(
        `${name}: the pool's index was built anew (its file is missing or of another version): opened again`,
      );
      await indexesBuilt(pool);
      await pool.close();
      restoring = performance.now();
      pool = await open();
    }
    const opened = (performance.now() - restoring) / 1_000;
    const whole = pool.position(0) === BigInt(files.n);
    const fill = whole ? null : await fillPool(context, name, files, pool);
    const pairs = texts();
    const { selection } = parseConfig("arms: [{ name: small, type: llama }]", {
      source: "bench",
      folder: context.folder,
      environment: {},
    });
    const arm = { maxTokens: 256, template: "chat-turns" as const, examples: true };
    const arms: SelectArm[] = [
      { ...arm, name: "small", model: "small", cost: 0.05 },
      { ...arm, name: "large", model: "large", cost: 1 },
    ];
    const select = createSelection({
      ...{ pool, selection, clock: Date.now, random: splitmix64(1) },
      arms: () => arms,
      helpfulnessModel: () => model,
    });
    const stages = { pool: [] as number[], both: [] as number[] };
    let shown = 0;
    const warmUp = Math.min(100, searches);
    let cpu = 0;
    let collections = (): Promise<number[]> => Promise.resolve([]);
    const bar = context.progress(`${name}: both stages`, searches, "requests");
    for (let i = -warmUp; i < searches; i++) {
      if (i === 0) [cpu, collections] = [ownCpuSeconds(), watchCollections()];
      const at = (i + warmUp) % rowsIn(files.queries);
      const embedding = row(files.queries, at);
      const question = pairs[(at * 7) % pairs.length]!.request;
      const began = performance.now();
      if (i >= 0 && i % 4 === 3) {
        await pool.nearest(domain, embedding, selection.candidates, Date.now());
        stages.pool.push(performance.now() - began);
        continue;
      }
      const chosen = await select(
        { request: plainRequest(question, { id: `bench-${at}`, tenant, createdAt: 0 }), domain, question, embedding },
        { log },
      );
      if (i >= 0) stages.both.push(performance.now() - began);
      if (chosen.degraded.length > 0 || chosen.helpfulnessVersion === 0)
        throw new Error(`a selection was degraded: ${chosen.degraded.join(", ")}`);
      shown += chosen.byArm.get("small")!.examples.length;
      if (i % 50 === 0) bar.update(i);
    }
    bar.finish();
    cpu = ownCpuSeconds() - cpu;
    const pauses = await collections();
    return {
      both_p50_ms: significant(quantile(stages.both, 0.5)),
      both_p99_ms: significant(quantile(stages.both, 0.99)),
      both_cpu_ms: significant((cpu * 1_000) / searches),
      both_collected_ms: significant(pauses.reduce((sum, ms) => sum + ms, 0) / searches),
      both_collection_longest_ms: significant(Math.max(0, ...pauses)),
      nearest_p50_ms: significant(quantile(stages.pool, 0.5)),
      nearest_p99_ms: significant(quantile(stages.pool, 0.99)),
      proxy_kind: kind,
      shown_mean: significant(shown / (stages.both.length + warmUp)),
      pool_fill_per_s: fill === null ? null : significant(fill),
      pool_restore_s: fill === null ? significant(opened) : null,
      pool_process_rss_mib: significant(resident(process.pid).now),
    };
  } finally {
    await model.close();
    await pool.close();
  }
}

/** Examples a second. Kept for later runs. */
async function fillPool(
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
const fromFile = (pool: ExamplePool): boolean =>
  pool.figures().indexes.every(({ figures }) => figures.swaps === 0 && figures.kind === "ivf");

/** Until they are built; closing the pool writes their files. */
async function indexesBuilt(pool: ExamplePool): Promise<void> {
  const settled = (): boolean => pool.figures().indexes.every(({ figures }) => !figures.building);
  do await new Promise((resolve) => setTimeout(resolve, 2_000));
  while (!settled());
}

const texts = (): Pair[] => examplePairs(readPairs(new URL("../../deploy/shell-pairs.jsonl", import.meta.url)), 3_000);

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

/**
 * Something for a helpfulness model to learn, so that the one that is timed has the size of a
 * learnt one: effects that no single feature tells.
 */
function helpfulnessRows(): HelpfulnessRow[] {
  const random = splitmix64(5);
  return Array.from({ length: 2_400 }, (_, i) => {
    const features = Array.from({ length: HELPFULNESS_FEATURES }, () => 2 * random() - 1);
    const effect = features[0]! * features[14]! > 0 === features[20]! > 0.2 ? 0.4 * random() : -0.3 * random();
    return { group: `${Math.floor(i / 8)}`, features, effect, weight: 1 };
  });
}
