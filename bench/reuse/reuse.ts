// bench -- reuse: how well the learnt quality of the arm that reuses answers tells whether the
// answer to one question may be given to another, beside plain cosine, on labelled pairs: scores of
// held-out folds alone. And whether the arm's switch holds its limit, with a pool that is poisoned
// half-way. Intervals by bootstrap of pairs. --only model also writes the trees that are shipped.
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { reuseFeatures, REUSE_FEATURE_NAMES } from "../../algorithms/routing/reuse-features.ts";
import reuseModel from "../../algorithms/routing/reuse-model.json" with { type: "json" };
import { reuseScore, type ReuseModel } from "../../algorithms/routing/reuse-trees.ts";
import { dot } from "../../algorithms/selection/embedding.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { armSchema } from "../../config/schema.ts";
import { reuseConfidence } from "../../operators/solve/reuse.ts";
import { trainReuse } from "./train.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { embeddings } from "../loop/history.ts";
import { mean, quantile, significant } from "../support/statistics.ts";
import { loadPairs, type LabelledPair } from "./data.ts";
import { atThreshold, auc, hitsAt, ranked } from "./figures.ts";
import { stream, type Streamed } from "./stream.ts";

interface Plan {
  repeats: number;
  resamples: number;
  runs: number;
}
const quick: Plan = { repeats: 1, resamples: 200, runs: 60 };
const full: Plan = { repeats: 5, resamples: 2_000, runs: 400 };

/**
 * GPTCache as it comes: (4 - d^2) / 4 >= 0.8 of the Euclidean distance d of unit vectors, which is
 * cosine >= 0.6.
 */
const plainThreshold = 0.6;
const limits = [0.05, 0.1, 0.2] as const;
const modelFile = fileURLToPath(new URL("../../algorithms/routing/reuse-model.json", import.meta.url));

export const reuse: Benchmark = {
  name: "reuse",
  about: "which answers may be given again: learnt quality beside cosine, and the limit of wrong ones",
  parts: ["model"],
  run,
};

async function run(context: BenchContext): Promise<Measured> {
  const plan = context.quick ? quick : full;
  const pairs = await loadPairs(context.data);
  const { rows, cosines, usPerPair } = await rowsOf(pairs, context);
  const labels = pairs.map(({ same }) => same);
  const same = Uint8Array.from(labels, Number);
  context.note(`fitting to ${pairs.length} pairs, ${plan.repeats} times five folds`);
  const { model, heldOut } = await trainReuse(rows, labels, { repeats: plan.repeats, say: context.note });
  if (context.only === "model" && context.data === undefined) await writeModel(model);

  const orders = heldOut.map(ranked);
  const cosineOrder = ranked(cosines);
  const figuresAt = (weights: Float64Array): Record<string, number> => ({
    auc: mean(orders.map((order) => auc(order, same, weights))),
    auc_cosine: auc(cosineOrder, same, weights),
    hits_at_5: mean(orders.map((order) => hitsAt(order, same, weights, 0.05))),
    hits_at_10: mean(orders.map((order) => hitsAt(order, same, weights, 0.1))),
    hits_at_5_cosine: hitsAt(cosineOrder, same, weights, 0.05),
    hits_at_10_cosine: hitsAt(cosineOrder, same, weights, 0.1),
  });
  const measured = figuresAt(new Float64Array(pairs.length).fill(1));
  const random = splitmix64(5);
  const bar = context.progress("resamples", plan.resamples, "draws");
  const resampled = Array.from({ length: plan.resamples }, (_, i) => {
    context.signal.throwIfAborted();
    bar.update(i + 1);
    return figuresAt(resample(pairs.length, random));
  });
  bar.finish();
  const withIntervals = Object.entries(measured).flatMap(([name, value]) => [
    [name, significant(value)] as const,
    ...[0.025, 0.975].map((q, side) => {
      const at = quantile(
        resampled.map((one) => one[name]!),
        q,
      );
      return [`${name}${side === 0 ? "_low" : "_high"}`, significant(at)] as const;
    }),
  ]);

  const scores = heldOut[0]!;
  const defaults = armSchema.parse({ name: "reuse", type: "reuse" });
  if (defaults.type !== "reuse") throw new Error("the schema made another arm of it");
  const held = limitHeld(scores, cosines, labels, defaults, plan.runs);
  return {
    figures: {
      n: pairs.length,
      same_share: significant(mean(labels.map(Number))),
      split: `five folds, ${plan.repeats} times; every pair scored by trees that were not fitted on it`,
      features: REUSE_FEATURE_NAMES.length,
      trees: model.trees.length,
      ...Object.fromEntries(withIntervals),
      cosine_threshold: { threshold: plainThreshold, ...atThreshold(cosines, same, plainThreshold) },
      quality_threshold: { threshold: defaults.minimumQuality, ...atThreshold(scores, same, defaults.minimumQuality) },
      ...held,
      shipped_off_by: significant(shippedDifference(rows, model)),
      us_per_pair: significant(usPerPair, 3),
    },
  };
}

async function rowsOf(pairs: readonly LabelledPair[], context: BenchContext) {
  const texts = [...new Set(pairs.flatMap(({ kept, asked }) => [kept, asked]))];
  const { vectors } = await embeddings(texts, context);
  const vectorOf = new Map(texts.map((text, i) => [text, floats(vectors[i]!)]));
  const cosines = pairs.map(({ kept, asked }) => dot(vectorOf.get(kept)!, vectorOf.get(asked)!));
  const began = performance.now();
  const rows = pairs.map(({ kept, asked }, i) => reuseFeatures(asked, kept, cosines[i]!));
  for (const row of rows) reuseScore(row, reuseModel);
  return { rows, cosines, usPerPair: ((performance.now() - began) * 1_000) / pairs.length };
}

const floats = (bytes: Buffer): Float32Array =>
  Float32Array.from({ length: bytes.length / 4 }, (_, k) => bytes.readFloatLE(4 * k));

/** How often each pair is drawn, with replacement. */
function resample(count: number, random: () => number): Float64Array {
  const weights = new Float64Array(count);
  for (let i = 0; i < count; i++) weights[Math.floor(random() * count)]!++;
  return weights;
}

/**
 * Held: with reuseConfidence it is never on while more than the limit of what it
 * could answer is wrong, and it is off at the end, when the pool has been poisoned. What a poisoned
 * pool brings until then is shown beside it.
 */
function limitHeld(
  scores: readonly number[],
  cosines: readonly number[],
  labels: readonly boolean[],
  settings: { minimumSimilarity: number; minimumQuality: number; verifyShare: number },
  runs: number,
): Record<string, unknown> {
  const rows = [settings.minimumQuality, 0.75, 0.9].flatMap((quality) => {
    const eligible = labels.filter((_, i) => scores[i]! >= quality && cosines[i]! >= settings.minimumSimilarity);
    return limits.map((limit) => {
      const all = Array.from({ length: runs }, (_, seed): Streamed =>
        stream(
          eligible,
          {
            limit,
            confidence: reuseConfidence,
            verifyShare: settings.verifyShare,
            before: 4_000,
            after: 2_000,
            lag: 5,
          },
          splitmix64(1_000 * seed + Math.round(1_000 * limit)),
        ),
      );
      const allowed = 1 - reuseConfidence + 2 * Math.sqrt((reuseConfidence * (1 - reuseConfidence)) / runs);
      const violated = mean(all.map((one) => Number(one.violated)));
      const offAtEnd = mean(all.map((one) => Number(one.offAtEnd)));
      return {
        quality,
        limit,
        rate: significant(mean(eligible.map((right) => Number(!right)))),
        eligible: significant(eligible.length / labels.length),
        on: significant(mean(all.map(({ on }) => on))),
        violated: significant(violated),
        off_at_end: significant(offAtEnd),
        wrong_served: significant(ratio(all, ({ wrong }) => wrong)),
        poisoned_served: significant(mean(all.map(({ poisoned }) => poisoned))),
        poisoned_served_p95: significant(
          quantile(
            all.map(({ poisoned }) => poisoned),
            0.95,
          ),
        ),
        held: violated <= allowed && offAtEnd === 1,
      };
    });
  });
  return { limit_held: rows.every(({ held }) => held), limit_runs: runs, limit_rows: rows };
}

function ratio(all: readonly Streamed[], of: (one: Streamed) => number): number {
  const served = all.reduce((sum, one) => sum + one.served, 0);
  return served === 0 ? 0 : all.reduce((sum, one) => sum + of(one), 0) / served;
}

/** Largest difference from the trees that are shipped: 0 where they were fitted to these pairs. */
const shippedDifference = (rows: readonly (readonly number[])[], model: ReuseModel): number =>
  rows
    .slice(0, 1_000)
    .reduce((most, row) => Math.max(most, Math.abs(reuseScore(row, reuseModel) - reuseScore(row, model))), 0);

async function writeModel({ base, trees }: ReuseModel): Promise<void> {
  const lines = trees.map((tree) => `    ${JSON.stringify(tree)}`);
  await writeFile(modelFile, `{\n  "base": ${base},\n  "trees": [\n${lines.join(",\n")}\n  ]\n}\n`);
}
