// Two more questions to the router: does it leave a log alone in which one arm dominates, and what
// does it lose where few answers are rated?
import type { BenchContext } from "../benchmark.ts";
import { significant } from "../support/statistics.ts";
import { answered, meanOf } from "./tally.ts";
import { cold, type Feedback, type Field } from "./passes.ts";
import { firstOf, oracleOf, priced, ranked, worthAt } from "./worth.ts";

/** The first requests, which are not counted. */
const learning = 400;
const mostRows = 2_400;
const dominatedWeight = 0.3;

/** The log with other scores, and the same contexts. */
function changed(field: Field, change: (scores: readonly (number | null)[], best: number) => number[]): Field {
  const { log } = field;
  const best = ranked(worthAt(log, 0), [...log.rows.keys()])[0]!;
  const rows = log.rows.slice(0, mostRows).map(({ request, task, scores }) => {
    const known = change(scores, best);
    return { request, task, scores: known, costs: known.map((_, arm) => (arm === best ? 0.8 : 1)) };
  });
  return { ...field, log: priced({ rows, arms: log.arms, priced: true }) };
}

/**
 * Shares of requests, after the first 400 of a pass at cost weight .3, that another arm than the
 * dominant one answered. Made from a log: the best arm gets the best score of all (lost_share), or
 * no other arm gets more than it (lost_share_close); the others cost a quarter more.
 */
export async function measureDominated(name: string, field: Field, orders: number, context: BenchContext) {
  if (Math.min(field.log.rows.length, mostRows) <= learning) return { lost_share: null, lost_share_close: null };
  const best = ranked(worthAt(field.log, 0), [...field.log.rows.keys()])[0]!;
  const known = (score: number | null): number => score ?? 0;
  const logs = {
    lost_share: changed(field, (scores) =>
      scores.map((score, arm) => (arm === best ? Math.max(...scores.map(known)) : known(score))),
    ),
    lost_share_close: changed(field, (scores) => scores.map((score) => Math.min(known(score), known(scores[best]!)))),
  };
  const bar = context.progress("routing: dominated", 2 * orders, "passes");
  const figures: Record<"lost_share" | "lost_share_close", number | null> = {
    lost_share: null,
    lost_share_close: null,
  };
  for (const [at, figure] of (Object.keys(logs) as (keyof typeof logs)[]).entries()) {
    let [lost, all] = [0, 0];
    for (let seed = 1; seed <= orders; seed++) {
      context.signal.throwIfAborted();
      const pass = await context.checkpoints.part(`${name} ${figure} ${seed}`, () =>
        Promise.resolve(cold(logs[figure], dominatedWeight, seed)),
      );
      const after = pass.arms.slice(learning);
      lost += after.filter((arm) => arm !== best).length;
      all += after.length;
      bar.update(at * orders + seed);
      await new Promise(setImmediate);
    }
    figures[figure] = significant(lost / all);
  }
  bar.finish();
  return figures;
}

const shares: readonly Feedback[] = [1, 0.1, "asked", 0.01];

/** Regret against the oracle, over a pass and in its second half, by the share that is rated. */
export async function measureFeedback(name: string, field: Field, orders: number, context: BenchContext) {
  const { log } = field;
  const weight = log.priced ? dominatedWeight : 0;
  const worth = worthAt(log, weight);
  const oracle = worth.reduce((sum, values) => sum + oracleOf(values), 0) / worth.length;
  const bar = context.progress(`routing: ${name}, feedback`, shares.length * orders, "passes");
  const rows: Record<string, unknown> = { cost_weight: weight };
  for (const [at, share] of shares.entries()) {
    const passes = [];
    for (let seed = 1; seed <= orders; seed++) {
      context.signal.throwIfAborted();
      passes.push(
        await context.checkpoints.part(`${name} feedback ${share} ${seed}`, () =>
          Promise.resolve(cold(field, weight, seed, share)),
        ),
      );
      bar.update(at * orders + seed);
      await new Promise(setImmediate);
    }
    const rated = passes.reduce((sum, pass) => sum + pass.rated, 0) / orders;
    rows[share === "asked" ? share : 100 * share] = {
      rated: significant(rated / log.rows.length),
      regret: significant(oracle - meanOf(answered(worth, passes, 0))),
      regret_half: significant(oracle - meanOf(answered(worth, passes, log.rows.length >> 1))),
    };
  }
  const order = ranked(worth, [...log.rows.keys()]);
  const constant = worth.reduce((sum, _, row) => sum + firstOf(worth, row, order), 0) / worth.length;
  rows.best_constant = { regret: significant(oracle - constant) };
  bar.finish();
  return rows;
}
