// Candidates of a request: which may be shown, and what an arm's choice reads of each. Pure.
import { isSafe } from "../../algorithms/selection/example-traits.ts";
import type { SharedDomains } from "../../algorithms/selection/shared-domains.ts";
import type { Candidate } from "../../state/examples/port.ts";
import type { Rated } from "./choose.ts";
import type { Ratings } from "./rate.ts";
import { tokensWithin } from "./room.ts";
import { unfit, type Asker, type Unfit } from "./screen.ts";

export interface Screened {
  candidate: Candidate;
  /** Estimated; Infinity: more than any arm has room for. */
  tokens: number;
  unfit: Unfit | null;
}

export interface ScreenOptions {
  /** Tokens that the arm with the most room has for examples. */
  most: number;
  /** [-1, 1] */
  minimumSimilarity: number;
  sharing: Pick<SharedDomains, "gives">;
}

export function screen(candidate: Candidate, asker: Asker, options: ScreenOptions): Screened {
  const { most, minimumSimilarity, sharing } = options;
  const reason = unfit(candidate, asker, minimumSimilarity, sharing);
  const { example, traits } = candidate;
  const tokens = reason === null ? tokensWithin(example, most, traits?.tokens) : 0;
  const readable = reason === null && tokens <= most;
  return { candidate, tokens, unfit: readable && !(traits?.isSafe ?? isSafe(example)) ? "unsafe" : reason };
}

/** Ratings and caches of arm `a`, given to the rated candidates. */
export function withRatings(
  screened: readonly Screened[],
  fit: readonly Screened[],
  ratings: Ratings,
  a: number,
  cached: readonly boolean[],
): Rated[] {
  const { helpfulness, features } = ratings;
  const featuresOf = (row: number): number[] => (row < 0 ? [] : features(a, row));
  let i = 0;
  return screened.map((one): Rated => {
    const rated = one === fit[i];
    const row = rated ? i++ : -1;
    const { example, similarity, vector } = one.candidate;
    // Written out: what V8 makes of `{ ...candidate, tokens }` outlives every young collection
    // (seen: 18 % of all that a selection allocates).
    return {
      example,
      similarity,
      vector,
      tokens: one.tokens,
      unfit: one.unfit,
      cached: rated && cached[row] === true,
      helpfulness: rated ? helpfulness[a * fit.length + row]! : Number.NaN,
      row,
      features: featuresOf,
    };
  });
}
