// bench -- selection: the index of stage 1 beside exact search in FAISS, hnswlib and usearch on the
// same vectors and queries, and both stages of selection on a pool of as many examples. Generated
// vectors that lie as those of texts do (data.ts), and real ones where nl2bash is there.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildNative, buildPeers } from "../../tools/setup/build-native.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { embeddings } from "../loop/history.ts";
import { readLines } from "../support/samples.ts";
import { recordedPeers } from "./recorded.ts";
import { generatedVectors, givenVectors, type VectorFiles } from "./data.ts";
import { measureBoth } from "./both.ts";
import { measureIndexes, type Plan, type Row } from "./measure.ts";
import { runMemory } from "./memory.ts";
import { runMilvus } from "./milvus.ts";
import { runSmall } from "./only-small.ts";
import { dataFolder } from "../support/data-file.ts";

const quickPlan: Plan = { truth: 100, rounds: 3, searches: 150, exactSearches: 10, throughput: 1_500, both: 400 };
const fullPlan: Plan = { truth: 200, rounds: 5, searches: 400, exactSearches: 20, throughput: 4_000, both: 1_500 };

export const selection: Benchmark = {
  name: "selection",
  about:
    "nearest examples and both stages of selection at 10 thousand to a million, beside exact search, hnswlib and usearch",
  parts: ["ours", "small", "milvus", "memory"],
  run(context) {
    if (context.only === "small") return runSmall(context);
    if (context.only === "milvus") return runMilvus(context);
    return context.only === "memory" ? runMemory(context) : run(context);
  },
};

async function run(context: BenchContext): Promise<Measured> {
  for (const build of [buildNative, buildPeers]) {
    const made = await build(context.note);
    if (!made.built) throw new Error(made.reason);
  }
  const rows: Row[] = [];
  const reasons: Record<string, string> = {};
  const plan = context.quick ? quickPlan : fullPlan;
  const measure = async (name: string, files: VectorFiles): Promise<void> => {
    const indexes = await context.checkpoints.part(name, () => measureIndexes(context, name, files, plan));
    const both = await context.checkpoints.part(`${name}: both stages`, () =>
      measureBoth(context, name, files, plan.both),
    );
    rows.push({ ...indexes.row, ...both });
    for (const [kind, reason] of Object.entries(indexes.reasons))
      for (const figure of ["p50_ms", "p99_ms", "recall_at_32"]) reasons[`${kind}_${figure}`] = reason;
  };
  if (!context.quick) {
    const real = await nl2bash(context);
    if (real === null) context.note("nl2bash is not there (PRECEDENT_DATA): generated vectors alone");
    else await measure("nl2bash", real);
  }
  for (const n of context.quick ? [100_000] : [10_000, 100_000, 1_000_000])
    await measure(`generated-${n}`, await generatedVectors(context, n));
  const recorded_peers = context.only === "ours" && !context.quick ? await recordedPeers() : undefined;
  return { figures: { ...rows.at(-1), rows, ...(recorded_peers && { recorded_peers }) }, reasons };
}

/**
 * Its training requests, asked for by its development requests; null where the data is not there.
 */
async function nl2bash({ folder, progress }: BenchContext): Promise<VectorFiles | null> {
  const data = dataFolder();
  const [train, dev] = ["train", "dev"].map((part) => join(data, `nl2bash-${part}.jsonl`));
  if (!existsSync(train!) || !existsSync(dev!)) return null;
  const texts = async (file: string): Promise<string[]> =>
    (await readLines<{ request: string }>(file)).map(({ request }) => request);
  // The other benchmarks embed the same requests: what one has made, all have.
  const shared = { folder: join(folder, "..", "helpfulness"), progress };
  const [rows, queries] = [await embeddings(await texts(train!), shared), await embeddings(await texts(dev!), shared)];
  return givenVectors(folder, "nl2bash", rows.vectors, queries.vectors);
}
