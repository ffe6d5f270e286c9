// A log measured whole: the router's passes and its rivals at every cost weight, a tally for each
// policy, so that figures and their intervals come from the same numbers.
import type { BenchContext } from "../benchmark.ts";
import { byLogistic, byNearest, byTask, nearestRows } from "./rivals.ts";
import { cold, fitted, foldsOf, takenBy, warm, type Field, type Pass } from "./passes.ts";
import { answered, meanOf, tallied, type Tally } from "./tally.ts";
import { constant, costWeights, firstOf, oracleOf, randomOf, ranked, worthAt } from "./worth.ts";

export const policies = [
  ...(["router_cold", "router_half", "router_warm", "fitted"] as const),
  ...(["best_constant", "per_task", "nearest", "logistic", "random", "oracle"] as const),
];
export type Policy = (typeof policies)[number];

export interface AtWeight {
  weight: number;
  /** null: not known for this log. */
  tallies: Record<Policy, Tally | null>;
  /** Mean worth of each arm; a missing answer counts as the best other arm's. */
  constants: Record<string, number>;
  bestArm: string;
}

export interface Effort {
  orders: number;
}

/** Answers of stored passes at one cost weight. */
type Kept = Pass[];

export async function measureLog(
  name: string,
  field: Field,
  { orders }: Effort,
  context: BenchContext,
): Promise<AtWeight[]> {
  const { log } = field;
  const weights = log.priced ? costWeights : [0];
  const rows = [...log.rows.keys()];
  const folds = foldsOf(log);
  const bar = context.progress(`routing: ${name}`, weights.length * (2 * orders + 2) + 2 * folds.length, "parts");
  let done = 0;
  const part = async <T>(what: string, compute: () => T): Promise<T> => {
    context.signal.throwIfAborted();
    // Yields, so that progress and Ctrl-C are handled.
    await new Promise(setImmediate);
    const result = await context.checkpoints.part(`${name} ${what}`, () => Promise.resolve(compute()));
    bar.update(++done);
    return result;
  };

  const expected: number[][][] = [];
  const near: Int32Array[][] = [];
  for (const [k, fold] of folds.entries()) {
    const means = await part(`fitted ${k}`, () => fitted(field, fold));
    // An arm that can't answer is null in JSON.
    expected.push(means.map((row) => row.map((value) => value ?? Number.NaN)));
    near.push(await part(`nearest ${k}`, () => nearestRows(field, fold).map((found) => [...found])).then(asArrays));
  }

  const measured: AtWeight[] = [];
  for (const weight of weights) {
    const worth = worthAt(log, weight);
    const order = ranked(worth, rows);
    const passes = async (kind: "cold" | "warm", run: typeof warm): Promise<Kept> => {
      const kept: Kept = [];
      for (let seed = 1; seed <= orders; seed++)
        kept.push(await part(`${kind} ${weight} ${seed}`, () => run(field, weight, seed)));
      return kept;
    };
    const whole = await passes("cold", cold);
    const continued = await passes("warm", warm);
    const held = (choose: (k: number) => number[]): Tally =>
      tallied(
        rows.length,
        folds.flatMap(({ test }, k) => {
          const values = choose(k);
          return test.map((row, at) => [row, values[at]!] as const);
        }),
      );
    const each = (valueOf: (row: number) => number): Tally =>
      tallied(
        rows.length,
        rows.map((row) => [row, valueOf(row)] as const),
      );
    const logistic = await part(`logistic ${weight}`, () => folds.map((fold) => byLogistic(field, worth, fold)));
    const nearest = await part(`by nearest ${weight}`, () => folds.map((fold, k) => byNearest(worth, near[k]!, fold)));
    const hasTasks = log.rows.some(({ task }) => task !== null);
    measured.push({
      weight,
      bestArm: log.arms[order[0]!]!,
      constants: Object.fromEntries(
        log.arms.map((arm, i) => [arm, meanOf(each((row) => firstOf(worth, row, constant(i, order))))]),
      ),
      tallies: {
        router_cold: answered(worth, whole, 0),
        router_half: answered(worth, whole, rows.length >> 1),
        router_warm: answered(worth, continued, 0),
        fitted: held((k) =>
          folds[k]!.test.map((row, at) => worth[row]![takenBy(expected[k]![at]!, log.armCosts, weight)]!),
        ),
        best_constant: each((row) => firstOf(worth, row, order)),
        per_task: hasTasks ? held((k) => byTask(field, worth, folds[k]!)) : null,
        nearest: held((k) => nearest[k]!),
        logistic: held((k) => logistic[k]!),
        random: each((row) => randomOf(worth[row]!)),
        oracle: each((row) => oracleOf(worth[row]!)),
      },
    });
  }
  bar.finish();
  return measured;
}

const asArrays = (rows: readonly (readonly number[])[]): Int32Array[] => rows.map((row) => Int32Array.from(row));
