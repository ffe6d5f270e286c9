// What int8 vectors do to what vectors are for, beside float32 on the same rows: the answers of the
// five nearest examples (nl2bash), the router (GSM8K, two models), and whether an answer may be
// reused (QQP). No language model runs.
import { reuseFeatures } from "../../algorithms/routing/reuse-features.ts";
import reuseModel from "../../algorithms/routing/reuse-model.json" with { type: "json" };
import { reuseScore } from "../../algorithms/routing/reuse-trees.ts";
import { dot } from "../../algorithms/selection/embedding.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { bestTokenF1 } from "../../algorithms/text/token-f1.ts";
import type { Precision } from "../../connections/embedder/precision.ts";
import type { BenchContext } from "../benchmark.ts";
import { embeddings } from "../loop/history.ts";
import { auc, ranked } from "../reuse/figures.ts";
import { loadPairs } from "../reuse/data.ts";
import { contextsOf } from "../routing/contexts.ts";
import { apgr } from "../routing/curve.ts";
import { loadRoutingLog } from "../routing/data.ts";
import { gainOf } from "../routing/evaluate.ts";
import { resampled } from "../routing/figures.ts";
import { curveOver, splitsOf, worldOf } from "../routing/two-models.ts";
import { pairedBootstrap, type Interval } from "../support/bootstrap.ts";
import { neededFile } from "../support/data-file.ts";
import { readLines } from "../support/samples.ts";
import { mean, quantile, significant } from "../support/statistics.ts";

/** float32's value, and int8 less float32 with its 95 % interval. */
type Effect = Record<"float32" | keyof Interval, number>;
const precisions = ["float32", "int8"] as const;
const shown = 5;
const part = 2_000;
const random = (): ReturnType<typeof splitmix64> => splitmix64(5);

interface Plan {
  pairs: number;
  repeats: number;
  resamples: number;
}

export async function measureEffect(context: BenchContext, plan: Plan) {
  const cosines: number[] = [];
  const both = async (texts: readonly string[]): Promise<Record<Precision, Float32Array[]>> => {
    // In parts, which are kept: a run that was broken off goes on.
    const of = async (precision: Precision): Promise<Float32Array[]> => {
      const vectors: Float32Array[] = [];
      for (let from = 0; from < texts.length; from += part) {
        context.signal.throwIfAborted();
        const some = await embeddings(texts.slice(from, from + part), context, precision);
        vectors.push(...some.vectors.map(floats));
      }
      return vectors;
    };
    const vectors = { float32: await of("float32"), int8: await of("int8") };
    vectors.float32.forEach((vector, i) => cosines.push(dot(vector, vectors.int8[i]!)));
    return vectors;
  };
  const f1 = await nearestAnswers(both);
  const reuse = await reuseAuc(context, plan, both);
  const router = await routerApgr(context, plan);
  return {
    effect: { f1: f1.alike, apgr: router, auc: reuse.alike },
    // Questions in int8 beside examples in float32: two machines that share one pool.
    effect_mixed: { f1: f1.mixed, auc: reuse.mixed },
    cosine: {
      texts: cosines.length,
      mean: significant(mean(cosines)),
      p1: significant(quantile(cosines, 0.01)),
      min: significant(cosines.reduce((least, one) => Math.min(least, one))),
    },
  };
}

type Both = (texts: readonly string[]) => Promise<Record<Precision, Float32Array[]>>;

async function nearestAnswers(both: Both): Promise<Record<"alike" | "mixed", Effect>> {
  const pool = await readLines<{ request: string; response: string }>(neededFile("nl2bash-train.jsonl"));
  const asked = await readLines<{ request: string; references: string[] }>(neededFile("nl2bash-dev.jsonl"));
  const examples = await both(pool.map(({ request }) => request));
  const questions = await both(asked.map(({ request }) => request));
  const f1 = (held: readonly Float32Array[], vectors: readonly Float32Array[]): number[] =>
    vectors.map((vector, i) => {
      const nearest = held
        .map((other, index) => ({ index, similarity: dot(vector, other) }))
        .sort((one, other) => other.similarity - one.similarity)
        .slice(0, shown);
      return mean(nearest.map(({ index }) => bestTokenF1(pool[index]!.response, asked[i]!.references)));
    });
  const float32 = f1(examples.float32, questions.float32);
  const effect = (int8: readonly number[]): Effect =>
    rounded(mean(float32), pairedBootstrap(int8, float32, { random: random() }));
  return {
    alike: effect(f1(examples.int8, questions.int8)),
    mixed: effect(f1(examples.float32, questions.int8)),
  };
}

/** By the trees that serve, which were fitted to float32. */
async function reuseAuc(
  { signal }: BenchContext,
  { pairs: count, resamples }: Plan,
  both: Both,
): Promise<Record<"alike" | "mixed", Effect>> {
  const pairs = (await loadPairs(undefined)).slice(0, count);
  const kept = await both(pairs.map((pair) => pair.kept));
  const asked = await both(pairs.map((pair) => pair.asked));
  const same = Uint8Array.from(pairs, (pair) => Number(pair.same));
  const aucOf = (examples: readonly Float32Array[], questions: readonly Float32Array[]) => {
    const order = ranked(
      pairs.map((pair, i) =>
        reuseScore(reuseFeatures(pair.asked, pair.kept, dot(examples[i]!, questions[i]!)), reuseModel),
      ),
    );
    return (weights: Float64Array) => auc(order, same, weights);
  };
  const float32 = aucOf(kept.float32, asked.float32);
  const rows = pairs.map(({ kept: first, asked: second }) => `${first}\n${second}`);
  const draws = resampled(rows, random(), resamples);
  signal.throwIfAborted();
  const effect = (int8: typeof float32): Effect => difference(float32, int8, draws, pairs.length);
  return { alike: effect(aucOf(kept.int8, asked.int8)), mixed: effect(aucOf(kept.float32, asked.int8)) };
}

async function routerApgr(context: BenchContext, { repeats, resamples }: Plan): Promise<Effect> {
  const { rows } = await loadRoutingLog(undefined);
  const requests = rows.map(({ request }) => request);
  const gains = Float64Array.from(rows, gainOf);
  const of = async (precision: Precision) => {
    const world = worldOf(rows, await contextsOf(requests, context, precision));
    const splits = splitsOf(world, { repeats, folds: 5 }, context);
    return (weights: Float64Array) => apgr(curveOver(splits, "full", gains, weights));
  };
  const [float32, int8] = [await of(precisions[0]), await of(precisions[1])];
  return difference(float32, int8, resampled(requests, random(), resamples), rows.length);
}

/** Both figures on the same draws of the rows. */
function difference(
  float32: (weights: Float64Array) => number,
  int8: (weights: Float64Array) => number,
  draws: readonly Float64Array[],
  rows: number,
): Effect {
  const once = new Float64Array(rows).fill(1);
  const values = draws.map((weights) => int8(weights) - float32(weights)).filter(Number.isFinite);
  const [low, high] = [quantile(values, 0.025), quantile(values, 0.975)];
  return rounded(float32(once), { difference: int8(once) - float32(once), low, high });
}

const rounded = (float32: number, { difference: by, low, high }: Interval): Effect => ({
  float32: significant(float32),
  ...{ difference: significant(by, 3), low: significant(low, 3), high: significant(high, 3) },
});

const floats = (bytes: Buffer): Float32Array =>
  Float32Array.from({ length: bytes.length / 4 }, (_, k) => bytes.readFloatLE(4 * k));
