// learn: what is new in ClickHouse becomes statistics, statistics a posterior, the posterior a version of the router policy; how each threshold of
// helpfulness did becomes a version of the threshold. One process of many (runtime/singleton.ts) does it, again and again (runtime/repeat.ts); every
// pass may break off anywhere and be done twice.
import type { Aggregate } from "../operators/aggregate/aggregate.ts";
import type { Published } from "../operators/publish/publish.ts";
import { solve, type SolveConfig, type Solved } from "../operators/solve/solve.ts";
import type { ThresholdOutcome } from "../operators/aggregate/thresholds.ts";
import { chooseThreshold, type ChosenThreshold, type ThresholdConfig } from "../operators/solve/threshold.ts";
import type { StageDescription } from "../runtime/declaration.ts";
import type { Policy } from "../schemas/types.ts";

export interface LearnDependencies {
  aggregate: Aggregate;
  publish: (solved: Solved) => Promise<Published>;
  solving: SolveConfig;
  halfLifeHours: number;
  observe: (operator: string, milliseconds: number) => void;
}

export interface LearnReport {
  rows: number;
  more: boolean;
  published: Published;
  problems: readonly string[];
}

const declaration = {
  name: "learn",
  sources: ["ClickHouse"],
  // The versions in force.
  tables: ["policies"],
  outputs: ["policies", "ClickHouse"],
  operators: ["aggregate", "solve", "publish"],
} as const satisfies StageDescription;

export const learn = {
  ...declaration,
  /** The function that does one pass. */
  bind({ aggregate, publish, solving, halfLifeHours, observe }: LearnDependencies): () => Promise<LearnReport> {
    // What was solved last; undefined while something is newer.
    let solved: Solved | undefined;
    const timed = async <T>(operator: string, work: () => Promise<T>): Promise<T> => {
      const began = performance.now();
      const result = await work();
      observe(operator, performance.now() - began);
      return result;
    };
    return async () => {
      const { rows, buckets, more } = await timed("aggregate", aggregate.advance);
      if (buckets > 0) solved = undefined;
      const statistics = solved === undefined ? await aggregate.statistics(halfLifeHours) : [];
      const current = (solved ??= await timed("solve", () => Promise.resolve(solve(statistics, solving))));
      const published = await timed("publish", () => publish(current));
      return { rows, more, published, problems: current.problems };
    };
  },
} as const;

export interface LearnThresholdDependencies {
  aggregate: () => Promise<ThresholdOutcome[]>;
  /** tau of the newest version. */
  inForce: () => number;
  publish: (chosen: ChosenThreshold) => Promise<Policy | null>;
  choosing: ThresholdConfig;
  observe: (operator: string, milliseconds: number) => void;
}

/** One pass over the thresholds; gives the version that was published, if one was. */
export function learnThreshold({ aggregate, inForce, publish, choosing, observe }: LearnThresholdDependencies) {
  return async (): Promise<Policy | null> => {
    const began = performance.now();
    const published = await publish(chooseThreshold(await aggregate(), inForce(), choosing));
    observe("threshold", performance.now() - began);
    return published;
  };
}
