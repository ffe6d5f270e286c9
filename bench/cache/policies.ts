// The policies that are compared, as they are made for a stream.
import { createAdaptive } from "../../algorithms/response-cache/adaptive.ts";
import { createGdsf, createLec1, createLecm, createLfu, createLru } from "./baselines.ts";
import type { CachePolicy } from "../../algorithms/response-cache/policy.ts";
import { createStaticOptimum } from "./static.ts";
import { createVsocb, type VsocbOptions } from "./vsocb.ts";
import { knapsack } from "../../algorithms/selection/knapsack.ts";
import type { Stream } from "./stream.ts";

/**
 * Null: not measured on this stream. oracleQueries: with more of them vsocb would ask its oracle
 * too often.
 */
type Make = (stream: Stream, oracleQueries: number) => CachePolicy | null;

export const defaultPolicy = "adaptive";

const vsocb =
  (options: Pick<VsocbOptions, "alpha" | "scale" | "lazy">): Make =>
  ({ capacity, queries, costs, sizes }, oracleQueries) =>
    sizes.length > oracleQueries && options.lazy !== true
      ? null
      : createVsocb(capacity, {
          ...{ rounds: queries.length, queries: sizes.length, solve: knapsack, ...options },
          costRange:
            costs.reduce((most, cost) => Math.max(most, cost)) - costs.reduce((least, cost) => Math.min(least, cost)),
        });

export const policies: Readonly<Record<string, Make>> = {
  adaptive: ({ capacity }) => createAdaptive(capacity),
  vsocb: vsocb({ alpha: 0.5, scale: 1 }),
  vsocb_scaled: vsocb({ alpha: 0.5, scale: 0.01 }),
  vsocb_lazy: vsocb({ alpha: 0.1, scale: 0, lazy: true }),
  lec1: ({ capacity }) => createLec1()(capacity),
  lecm: ({ capacity }) => createLecm()(capacity),
  lru: ({ capacity }) => createLru(capacity),
  lfu: ({ capacity }) => createLfu(capacity),
  gdsf: ({ capacity }) => createGdsf(capacity),
  optimum: ({ capacity, known }) =>
    known === null ? null : createStaticOptimum(capacity, known, { solve: knapsack, preloaded: false }),
};
