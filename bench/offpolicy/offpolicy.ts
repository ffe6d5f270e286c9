// bench -- offpolicy: error and coverage of the off-policy estimators on logs with known truth, how
// long ten million decisions take, and how well ten policies are ranked from a sampled log of two
// models. The baseline is ips.
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Estimator } from "../../algorithms/off-policy/estimators.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { BenchContext, Benchmark, Figures } from "../benchmark.ts";
import { mean, significant } from "../support/statistics.ts";
import { measureCoverage, type Covered } from "./coverage.ts";
import { evaluateTenMillion } from "./ten-million.ts";
import { rankPolicies, readQuestions } from "./two-models.ts";
import { trueValue, worlds } from "./worlds.ts";
import { dataFolder } from "../support/data-file.ts";

interface Cell {
  world: string;
  decisions: number;
  logs: number;
  truth: number;
  covered: Covered[];
}

export const offpolicy: Benchmark = {
  name: "offpolicy",
  about: "off-policy estimators: error, coverage, ranking, ten million decisions",
  async run(context) {
    const cells = await measureAll(context);
    const reasons: Record<string, string> = {};
    if (context.quick) reasons.rmse_100k = "few logs of this size fit into a quick run: see the full one";
    const ten = await evaluateTenMillion(context, context.quick ? 1 : 3);
    const folder = dataFolder();
    const file = context.data ?? join(folder, "gsm8k-two-models-a.jsonl");
    const questions = readQuestions(file);
    const ranked = questions === null ? null : rankPolicies(questions, context.quick ? 11 : 101, splitmix64(3));
    if (ranked === null) reasons.rank_correlation = `${file} is not there: set PRECEDENT_DATA`;
    const figures: Figures = {
      ...summary(cells),
      ...{ seconds_10m: significant(ten.seconds, 3), seconds_10m_low: significant(ten.seconds_low, 3) },
      ...{ seconds_10m_high: significant(ten.seconds_high, 3), error_10m: significant(ten.error, 2) },
      cpu_seconds_10m: significant(ten.cpu_seconds, 3),
      rank_correlation: null,
      ...(ranked === null ? {} : rounded(ranked)),
      cells: cells.flatMap(rowsOf),
    };
    return { figures, reasons };
  },
};

async function measureAll({ quick, progress, signal, checkpoints }: BenchContext): Promise<Cell[]> {
  const sizes: readonly (readonly [decisions: number, logs: number])[] = quick
    ? [
        [1_000, 60],
        [10_000, 40],
      ]
    : [
        [1_000, 300],
        // With 600 intervals of 95 %, coverage lies outside 93 to 97 % once in 40 times.
        [10_000, 600],
        [100_000, 10],
      ];
  const shown = progress("synthetic logs", worlds.length * sizes.length, "cells");
  const cells: Cell[] = [];
  for (const [w, world] of worlds.entries()) {
    const truth = trueValue(world, quick ? 200_000 : 1_000_000, fastRandom(1_000 + w));
    for (const [s, [decisions, logs]] of sizes.entries()) {
      signal.throwIfAborted();
      const cell = await checkpoints.part(`${world.name}, ${decisions}`, (): Promise<Cell> => {
        const random = fastRandom(100 * w + s);
        const covered = measureCoverage(world, { count: decisions, logs, truth, random });
        return Promise.resolve({ world: world.name, decisions, logs, truth, covered });
      });
      cells.push(cell);
      shown.update(cells.length);
      // Otherwise it could not be interrupted.
      await setImmediate();
    }
  }
  shown.finish();
  return cells;
}

/** 32 bits a draw: half a billion draws are needed, and splitmix64's big integers take minutes. */
function fastRandom(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const of = ({ covered }: Cell, name: Estimator): Covered => covered.find(({ estimator }) => estimator === name)!;

/** Means over the worlds at 10k decisions; the whole is in `cells`. */
function summary(cells: readonly Cell[]): Figures {
  const at = cells.filter(({ decisions }) => decisions === 10_000);
  const coverage = (name: Estimator): number[] => at.map((cell) => of(cell, name).coverage ?? Number.NaN);
  const rmse = (name: Estimator): number => significant(mean(at.map((cell) => of(cell, name).rmse)), 3);
  const names = ["ips", "snips", "dr"] as const;
  const worse = cells.filter((cell) => of(cell, "dr").rmse > of(cell, "ips").rmse);
  return {
    ...Object.fromEntries(names.map((name) => [`coverage_${name}`, significant(mean(coverage(name)), 4)])),
    ...Object.fromEntries(names.map((name) => [`coverage_${name}_low`, significant(Math.min(...coverage(name)), 4)])),
    ...Object.fromEntries(names.map((name) => [`coverage_${name}_high`, significant(Math.max(...coverage(name)), 4)])),
    ...{ rmse_ips: rmse("ips"), rmse_snips: rmse("snips"), rmse_dm: rmse("dm"), rmse_dr: rmse("dr") },
    rmse_switch_dr: rmse("switch-dr"),
    rmse_100k: rmse100k(cells),
    dr_at_most_ips: worse.length === 0,
    logs_10k: at[0]?.logs ?? 0,
  };
}

/** At 100,000 decisions, by estimator; null where that was not measured. */
function rmse100k(cells: readonly Cell[]): Record<string, number> | null {
  const at = cells.filter(({ decisions }) => decisions === 100_000);
  const of100k = (name: Estimator): number => significant(mean(at.map((cell) => of(cell, name).rmse)), 3);
  return at.length === 0 ? null : { ips: of100k("ips"), snips: of100k("snips"), dr: of100k("dr") };
}

const rowsOf = ({ world, decisions, logs, truth, covered }: Cell) =>
  covered.map(({ estimator, rmse, bias, coverage }) => ({
    ...{ world, decisions, logs, truth: significant(truth), estimator },
    ...{
      rmse: significant(rmse, 3),
      bias: significant(bias, 3),
      coverage: coverage === null ? null : significant(coverage, 3),
    },
  }));

const rounded = ({ policies, ...correlations }: ReturnType<typeof rankPolicies>): Figures => ({
  ...Object.fromEntries(Object.entries(correlations).map(([name, value]) => [name, significant(value, 3)])),
  ranked: policies.map(({ policy, ...values }) => ({
    policy,
    ...Object.fromEntries(Object.entries(values).map(([name, value]) => [name, significant(value, 4)])),
  })),
});
