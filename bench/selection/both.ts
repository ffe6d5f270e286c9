// Both stages on a pool of n examples: nearest of the domain from the index, vectors and texts from
// the store, features, one call of an ONNX model for two arms, each arm's choice. Everything that
// select does for a request but its embedding, which others measure.
import { HELPFULNESS_FEATURES } from "../../algorithms/selection/helpfulness-features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { parseConfig } from "../../config/load.ts";
import type { ExamplePool } from "../../state/examples/port.ts";
import type { HelpfulnessRow } from "../../connections/training/helpfulness.ts";
import { createSelection } from "../../operators/select/selection.ts";
import type { SelectArm } from "../../operators/select/selection-types.ts";
import { createLog } from "../../runtime/log.ts";
import { plainRequest } from "../../schemas/plain-request.ts";
import type { BenchContext } from "../benchmark.ts";
import { benchHelpfulnessModel } from "../helpfulness/model.ts";
import { watchCollections } from "../support/collections.ts";
import { ownCpuSeconds, resident } from "../support/processes.ts";
import { quantile, significant } from "../support/statistics.ts";
import { row, rowsIn, type VectorFiles } from "./data.ts";
import type { Row } from "./measure.ts";
import { domain, fillPool, fromFile, indexesBuilt, openPool, poolFolder, tenant, texts } from "./pool.ts";

const log = createLog({ level: "error" });

export async function measureBoth(
  context: BenchContext,
  name: string,
  files: VectorFiles,
  searches: number,
): Promise<Row> {
  const { model, kind } = await benchHelpfulnessModel(context, helpfulnessRows());
  const open = (): Promise<ExamplePool> => openPool(poolFolder(context, name));
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
