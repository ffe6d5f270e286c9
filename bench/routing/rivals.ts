// What the router is measured beside: policies that know the labels of the training part of a fold.
import { dot } from "../../algorithms/numeric/matrix.ts";
import { fitLogistic } from "./logistic.ts";
import type { Field, Fold } from "./passes.ts";
import { bestOf, firstOf, ranked, type Worth } from "./worth.ts";

const neighbours = 64;
/** With more arms than this, pairs are of each arm and the best constant one alone. */
const mostInPairs = 12;
/** Without a cost term: pairs compare worth, which has it. */
const noCost = 0;

/** Rows of the training part nearest to each row of the test part, by embedding. */
export function nearestRows({ contexts: { vectors } }: Field, { train, test }: Fold): Int32Array[] {
  const similarities = new Float64Array(train.length);
  return test.map((row) => {
    const vector = vectors[row]!;
    for (const [k, other] of train.entries()) similarities[k] = dot(vector, vectors[other]!);
    const least = similarities.toSorted().at(-Math.min(neighbours, train.length))!;
    const above = train.filter((_, k) => similarities[k]! > least);
    const level = train.filter((_, k) => similarities[k] === least);
    return Int32Array.from([...above, ...level].slice(0, neighbours));
  });
}

/** The arm with the most worth among the nearest requests, in the mean. */
export function byNearest(worth: Worth, nearest: readonly Int32Array[], { test }: Fold): number[] {
  return test.map((row, at) => firstOf(worth, row, ranked(worth, [...nearest[at]!])));
}

/** The best arm of the request's task, by the training part; of all where it has none there. */
export function byTask({ log }: Field, worth: Worth, { train, test }: Fold): number[] {
  const rows = new Map<string | null, number[]>();
  for (const row of train) {
    const task = log.rows[row]!.task;
    rows.set(task, [...(rows.get(task) ?? []), row]);
  }
  const all = ranked(worth, train);
  const orders = new Map([...rows].map(([task, own]) => [task, ranked(worth, own)]));
  return test.map((row) => firstOf(worth, row, orders.get(log.rows[row]!.task) ?? all));
}

/**
 * RouteLLM's kind of router, a logistic regression a pair of arms: which of the two is worth more?
 * The arm with the most expected wins answers. Ties teach nothing.
 */
export function byLogistic({ log, contexts }: Field, worth: Worth, { train, test }: Fold): number[] {
  const order = ranked(worth, train);
  const count = log.arms.length;
  const pairs = order.flatMap((one, i) =>
    order.slice(i + 1).flatMap((other) => (count <= mostInPairs || i === 0 ? [[one, other] as const] : [])),
  );
  const flat = (row: number): number[] => contexts.at(row, noCost);
  const rows = new Map(train.map((row) => [row, flat(row)]));
  const wins = test.map(() => new Float64Array(count));
  const tests = test.map(flat);
  for (const [one, other] of pairs) {
    const differ = train.filter((row) => {
      const gap = worth[row]![one]! - worth[row]![other]!;
      return gap !== 0 && !Number.isNaN(gap);
    });
    if (differ.length === 0) continue;
    const model = fitLogistic(
      differ.map((row) => rows.get(row)!),
      differ.map((row) => (worth[row]![one]! > worth[row]![other]! ? 1 : 0)),
    );
    for (const [k, row] of tests.entries()) {
      const p = 1 / (1 + Math.exp(-model(row)));
      // How often the pair differs says how much a win is worth.
      wins[k]![one]! += ((2 * p - 1) * differ.length) / train.length;
      wins[k]![other]! -= ((2 * p - 1) * differ.length) / train.length;
    }
  }
  return test.map((row, k) => {
    const able = wins[k]!.map((value, arm) => (Number.isNaN(worth[row]![arm]!) ? -Infinity : value));
    return worth[row]![Math.max(0, bestOf(able))]!;
  });
}
