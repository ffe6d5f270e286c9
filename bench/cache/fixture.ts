// The totals of ../shared/data/cache-fixture.json, computed anew: what every policy pays on the
// paper's stream, seed by seed. The oracle is exact and flushes, as the fixture's does.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createAdaptive } from "../../algorithms/response-cache/adaptive.ts";
import { createGdsf, createLec1, createLecm, createLru } from "./baselines.ts";
import { costRadius } from "./bounds.ts";
import { exactKnapsack } from "./exact-knapsack.ts";
import type { CachePolicy } from "../../algorithms/response-cache/policy.ts";
import { createStaticOptimum } from "./static.ts";
import { createVsocb, type Vsocb, type VsocbOptions } from "./vsocb.ts";
import { play, type Stream } from "./stream.ts";
import { fixtureStream } from "./synthetic.ts";
import { dataFolder } from "../support/data-file.ts";

/** One seed of the fixture: totals by policy. */
type FixtureRun = { seed: number } & Record<string, number>;

const file = join(dataFolder(), "cache-fixture.json");

/** Null: the data is not there. */
export async function readFixture(): Promise<FixtureRun[] | null> {
  if (!existsSync(file)) return null;
  return (JSON.parse(await readFile(file, "utf8")) as { runs: FixtureRun[] }).runs;
}

/** alpha of the fixture. */
const alpha = 0.5;

export function fixtureVsocb(stream: Stream, options: Pick<VsocbOptions, "scale"> & Partial<VsocbOptions>): Vsocb {
  const { capacity, queries, sizes } = stream;
  return createVsocb(capacity, {
    ...{ rounds: queries.length, queries: sizes.length, solve: exactKnapsack, alpha, flushWorthless: true, ...options },
  });
}

/** Policies by their names in the fixture. */
const policies: Readonly<Record<string, (stream: Stream) => CachePolicy>> = {
  lec1_sC1: ({ capacity, queries, sizes }) =>
    createLec1({ radius: costRadius({ rounds: queries.length, queries: sizes.length }, 1), floor: 1 })(capacity),
  lec1_sC0: ({ capacity }) => createLec1()(capacity),
  lecm_sC0: ({ capacity }) => createLecm()(capacity),
  "vsocb_s0_a0.5": (stream) => fixtureVsocb(stream, { scale: 0 }),
  "vsocb_s0.01_a0.5": (stream) => fixtureVsocb(stream, { scale: 0.01 }),
  "vsocb_s1_a0.5": (stream) => fixtureVsocb(stream, { scale: 1 }),
  "vsocb_s0_a0.5_literal26": (stream) => fixtureVsocb(stream, { scale: 0, dropAnswered: true }),
  lru: ({ capacity }) => createLru(capacity),
  gdsf: ({ capacity }) => createGdsf(capacity),
  // As the specification has it.
  adaptive: ({ capacity }) => createAdaptive(capacity, { halfLives: [Infinity, 64, 16, 4], windowShare: 0 }),
  static_opt: ({ capacity, known }) =>
    createStaticOptimum(capacity, known ?? [], { solve: exactKnapsack, preloaded: true }),
  static_opt_wait: ({ capacity, known }) =>
    createStaticOptimum(capacity, known ?? [], { solve: exactKnapsack, preloaded: false }),
};

/** Largest absolute difference from the fixture by policy, over so many of its seeds. */
export function fixtureErrors(runs: readonly FixtureRun[]): Record<string, number> {
  const errors: Record<string, number> = {};
  for (const run of runs) {
    const stream = fixtureStream(run.seed);
    for (const [name, make] of Object.entries(policies))
      errors[name] = Math.max(errors[name] ?? 0, Math.abs(play(stream, make(stream)).cost - run[name]!));
  }
  return errors;
}
