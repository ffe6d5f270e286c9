// The settings on which policies are compared. Each is a list of streams (seeds), summed.
import { estimateTokens } from "../../algorithms/text/tokens.ts";
import { readLines } from "../support/samples.ts";
import { fixtureStream, largeStream, type FixtureOptions, type LargeOptions } from "./synthetic.ts";
import type { Stream } from "./stream.ts";

export interface Setting {
  name: string;
  /** Popularities, costs and sizes stay as they are, and nothing expires. */
  stationary: boolean;
  streams(quick: boolean): Stream[];
}

const fixtureLike = (name: string, options: FixtureOptions = {}): Setting => ({
  name,
  stationary: (options.popularityDraws ?? 1) === 1 && (options.costDraws ?? 1) === 1 && options.ttl === undefined,
  streams: (quick) => Array.from({ length: quick ? 2 : 10 }, (_, i) => fixtureStream(i + 1, options)),
});

const large = (name: string, options: Omit<LargeOptions, "rounds"> = {}): Setting => ({
  name,
  stationary: (options.popularityDraws ?? 1) === 1 && options.ttl === undefined && !options.once && !options.recent,
  streams: (quick) =>
    Array.from({ length: quick ? 1 : 3 }, (_, i) =>
      largeStream(i + 1, { rounds: quick ? 20_000 : 200_000, ...options }),
    ),
});

export const syntheticSettings: readonly Setting[] = [
  fixtureLike("paper"),
  fixtureLike("paper_drift", { popularityDraws: 5 }),
  fixtureLike("paper_cost_drift", { costDraws: 5 }),
  fixtureLike("paper_noise", { noise: 0.5 }),
  fixtureLike("paper_small", { capacity: 20 }),
  fixtureLike("paper_large", { capacity: 200 }),
  fixtureLike("paper_same_size", { capacity: 12, sameSize: true }),
  fixtureLike("paper_ttl", { ttl: 500 }),
  fixtureLike("paper_drift_ttl", { popularityDraws: 5, ttl: 1_000 }),
  large("zipf"),
  large("zipf_drift", { popularityDraws: 5 }),
  large("zipf_cost_by_size", { costBySize: true }),
  large("zipf_cost_by_size_drift", { costBySize: true, popularityDraws: 5 }),
  large("zipf_flat", { zipf: 0.7 }),
  large("zipf_once", { once: 0.3 }),
  large("zipf_recent", { recent: 0.3 }),
  large("zipf_drift_ttl", { popularityDraws: 5, ttl: 5_000 }),
];

interface TwoModels {
  request: string;
  small: { response: string };
  large: { response: string };
}

/** An answer token costs as much as so many prompt tokens, which is usual for hosted models. */
const answerTokenCost = 3;

/** Lengths of real requests and answers, and the costs that follow from them. */
export async function realSettings(file: string): Promise<Setting[]> {
  const rows = await readLines<TwoModels>(file);
  return (["small", "large"] as const).flatMap((arm) => {
    const items = rows.map((row) => {
      const answer = row[arm].response;
      const cost = estimateTokens(row.request) + answerTokenCost * estimateTokens(answer);
      return { size: Buffer.byteLength(row.request) + Buffer.byteLength(answer), cost };
    });
    return [large(`gsm8k_${arm}`, { items }), large(`gsm8k_${arm}_drift`, { items, popularityDraws: 5 })];
  });
}
