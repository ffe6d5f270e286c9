// Eviction of examples for room: what the uses of the following hours were worth that found their
// example, by policy, on pools with the sizes of real texts and uses that are skewed and move
// (simulated). Beside it how far the choice is from the exact one, and how long it takes.
import { knapsack } from "../../algorithms/selection/knapsack.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { neededFile } from "../support/data-file.ts";
import { readAnswers, readLines, shuffled, type Pair } from "../support/samples.ts";
import { mean, median, significant } from "../support/statistics.ts";
import { drawHours, sizesOf } from "./pool.ts";
import type { Candidate } from "../support/simulated-pool.ts";
import { policies, type PolicyName } from "./policies.ts";
import { play } from "./play.ts";

export const eviction: Benchmark = { name: "eviction", about: "which examples are worth their bytes", run };

const drifts = { still: 0, slow: 0.01, fast: 0.1 } as const;
/** Byte budget as a share of the bytes of all requested items. */
const budgetShare = 0.2;
/** Examples of a pool in which the exact choice can be made every hour. */
const smallPool = 300;

interface Setting {
  name: string;
  sizes: number[];
  drift: number;
  names: PolicyName[];
}

async function run(context: BenchContext): Promise<Measured> {
  const { quick, signal } = context;
  const sizes = await realSizes(quick ? 1_500 : 5_000);
  const all = Object.keys(policies) as PolicyName[];
  const settings = Object.entries(sizes).flatMap(([kind, of]) =>
    Object.entries(drifts).map(([drift, share]): Setting => {
      const small = kind === "small";
      return {
        ...{ name: `${kind} ${drift}`, sizes: of, drift: share },
        names: all.filter((name) => small || name !== "exact"),
      };
    }),
  );
  const seeds = quick ? [1] : [1, 2, 3, 4, 5];
  const [next, then] = [new Map<string, number[]>(), new Map<string, number[]>()];
  const bySetting: Record<string, Record<string, number>> = {};
  const gaps: number[] = [];
  let done = 0;
  const bar = context.progress("hours of eviction", settings.length * seeds.length, "runs");
  for (const { name, sizes: of, drift, names } of settings) {
    const shares = new Map<string, number[]>();
    for (const seed of seeds) {
      const options = { sizes: of, hours: quick ? 30 : 96, usesAnHour: Math.floor(of.length / 3), drift };
      const drawn = drawHours({ ...options, random: splitmix64(seed) });
      const budget = budgetShare * of.reduce((sum, bytes) => sum + bytes, 0);
      for (const policy of names) {
        signal.throwIfAborted();
        const played = play(drawn, budget, policies[policy], splitmix64(seed + 1_000));
        push(shares, policy, played.realised / played.possible);
        push(next, policy, played.realised / played.possible);
        push(then, policy, played.kept / played.weighed);
        if (policy === "exact") gaps.push(...played.choices.flatMap(gapOf));
        await new Promise((resolve) => setImmediate(resolve));
      }
      bar.update(++done);
    }
    bySetting[name] = means(shares);
  }
  bar.finish();
  return {
    figures: {
      simulated: true,
      // Mean over the policies that run in every setting: the exact choice is made in small pools
      // only.
      value_kept: { ...means(next), exact: null },
      value_kept_small: meanOf(bySetting, "small", all),
      value_kept_at_solve: { ...means(then), exact: null },
      gap_to_exact: significant(mean(gaps), 3),
      gap_to_exact_worst: significant(Math.max(...gaps), 3),
      solver_ms: await solving(context),
      budget_share: budgetShare,
      settings: bySetting,
    },
    reasons: Object.fromEntries(
      ["value_kept", "value_kept_at_solve"].map((figure) => [
        `${figure}.exact`,
        `exact in pools of ${smallPool} alone: value_kept_small`,
      ]),
    ),
  };
}

/** Bytes of real pairs, by kind. Throws an error for people where the data is not there. */
async function realSizes(most: number): Promise<Record<string, number[]>> {
  const commands = sizesOf(await readLines<Pair>(neededFile("nl2bash-train.jsonl")));
  const answers = sizesOf(await readAnswers(neededFile("gsm8k-two-models-a.jsonl")));
  const mixed = shuffled([...commands.slice(0, answers.length), ...answers], 1);
  return {
    commands: shuffled(commands, 1).slice(0, most),
    answers: shuffled(answers, 1).slice(0, most),
    mixed: mixed.slice(0, most),
    small: mixed.slice(0, smallPool),
  };
}

/** Loss of our choice beside the exact one, as a share of its value, where that is above 0. */
function gapOf({ candidates, capacity }: { candidates: readonly Candidate[]; capacity: number }): number[] {
  const valueOf = (kept: readonly number[]): number => kept.reduce((sum, index) => sum + candidates[index]!.value, 0);
  const best = valueOf(policies.exact(candidates, capacity));
  return best > 0 ? [1 - valueOf(policies.ours(candidates, capacity)) / best] : [];
}

/** Median milliseconds of a choice among as many examples as curate weighs at once. */
async function solving({ quick, signal }: BenchContext): Promise<number> {
  const sizes = (await realSizes(5_000)).mixed!;
  const random = splitmix64(9);
  const items = Array.from({ length: 20_000 }, (_, i) => ({
    weight: sizes[i % sizes.length]!,
    value: (random() + 0.5 * random() ** -0.5) / 3,
  }));
  const room = 0.9 * items.reduce((sum, { weight }) => sum + weight, 0);
  const runs: number[] = [];
  for (let i = 0; i < (quick ? 2 : 7); i++) {
    signal.throwIfAborted();
    const began = performance.now();
    knapsack(items, room);
    runs.push(performance.now() - began);
  }
  return significant(median(runs), 3);
}

function push(into: Map<string, number[]>, name: string, value: number): void {
  into.set(name, [...(into.get(name) ?? []), value]);
}

const means = (of: ReadonlyMap<string, readonly number[]>): Record<string, number> =>
  Object.fromEntries([...of].map(([name, values]) => [name, significant(mean(values), 4)]));

const meanOf = (
  settings: Record<string, Record<string, number>>,
  kind: string,
  names: readonly PolicyName[],
): Record<string, number> =>
  Object.fromEntries(
    names.map((name) => {
      const values = Object.entries(settings).flatMap(([setting, found]) =>
        setting.startsWith(kind) ? (found[name] ?? []) : [],
      );
      return [name, significant(mean(values), 4)];
    }),
  );
