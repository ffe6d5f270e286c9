// Which tokens of a linked prompt are recomputed (docs/design/linked-prefill.md, Policies; EPIC 4.2, Cache-Craft 3.2.1). Positions count from the first
// token of the first chunk; the question behind the last chunk is prefilled in any case and stands in no plan.
import { cacheFixOverhead, contextualisedTokens } from "./chunk-scores.ts";
import type { LinkPolicy } from "./link-policy.ts";
import type { Random } from "./random.ts";

/** A chunk in prompt order. */
export interface PlannedChunk {
  /** Tokens, >= 1. */
  length: number;
  /**
   * missing: no cache, so all of it is computed whatever the policy. exact: the prompt up to its end is the one that its cache was made
   * behind, so nothing of it needs repair (only the first chunks can be); `full` alone computes it again.
   */
  state: "linked" | "missing" | "exact";
  /** For craft: CCI (1 - beta') behind the chunks before it, and its tokens by inter-attention, highest first. */
  impact?: { score: number; ranking: readonly number[] };
  /** For blend: how far K and V of each token are from freshly computed ones on the first layers. */
  deviation?: ArrayLike<number>;
  /** For the control "attended": attention that each token gets from the question. */
  attention?: ArrayLike<number>;
  /** craft: false leaves it as it is, for the question does not look at it (focus.ts). */
  focused?: boolean;
}

/** Positions from a up to, and not including, b. */
export type Run = readonly [a: number, b: number];

/** Ascending, apart from each other, never empty. `random` is drawn from by the control of that name alone. */
export function planRecompute(policy: LinkPolicy, chunks: readonly PlannedChunk[], random?: Random): Run[] {
  const starts: number[] = [];
  let total = 0;
  for (const { length } of chunks) {
    starts.push(total);
    total += length;
  }
  if (policy.kind === "full") return total === 0 ? [] : [[0, total]];
  const chosen = new Uint8Array(total);
  const mark = (a: number, b: number): void => void chosen.fill(1, Math.max(0, a), Math.min(total, b));
  const firstLast = Math.max(0, chunks.length - policy.last);
  // Where what stands before is not what the cache was made behind.
  const repairable = chunks.map(({ state }, index) => state === "linked" && index < firstLast);

  for (const [index, { length, state }] of chunks.entries())
    if (state === "missing" || (state === "linked" && index >= firstLast))
      mark(starts[index]!, starts[index]! + length);

  if (policy.kind === "attnlink") {
    for (const [index, repaired] of repairable.entries()) {
      // Its start is first in the prompt, as it was in its cache: no boundary.
      if (!repaired || index === 0) continue;
      const boundary = starts[index]!;
      const before = Math.floor(policy.amount / 2);
      if (repairable[index - 1] === true) mark(Math.max(boundary - before, starts[index - 1]!), boundary);
      mark(boundary, boundary + Math.min(policy.amount - before, chunks[index]!.length));
    }
  } else if (policy.kind === "prefix") {
    // As the longest prefix that can be put together in any order, and the rest computed.
    const whole = chunks.map(({ state }) => state !== "missing");
    const firstMissing = whole.includes(false) ? starts[whole.indexOf(false)]! : total;
    mark(Math.min(firstMissing, total - Math.ceil(policy.amount * total)), total);
  } else if (policy.kind === "blend") {
    for (const position of mostDeviating(policy.amount, chunks, starts, repairable)) chosen[position] = 1;
  } else {
    for (const [index, repaired] of repairable.entries()) {
      if (!repaired) continue;
      for (const token of tokensOf(policy, chunks[index]!, random)) chosen[starts[index]! + token] = 1;
    }
  }
  return runsOf(chosen);
}

function tokensOf(policy: LinkPolicy, chunk: PlannedChunk, random: Random | undefined): readonly number[] {
  const count = Math.ceil(policy.amount * chunk.length - 1e-9);
  if (policy.kind === "craft") {
    if (chunk.focused === false) return [];
    // Nothing is known of it: as though all of it depended on what stood before.
    if (chunk.impact === undefined) return Array.from({ length: chunk.length }, (_, token) => token);
    return contextualisedTokens(chunk.impact.ranking, cacheFixOverhead(policy.amount, chunk.impact.score));
  }
  if (policy.kind === "random") {
    if (random === undefined) throw new TypeError("the policy random needs random numbers");
    return ranked(
      Array.from({ length: chunk.length }, () => random()),
      count,
    );
  }
  return policy.kind === "attended" ? ranked(known(chunk.attention, chunk, "attention"), count) : [];
}

/** The share of all repairable tokens that deviate most, whichever chunks they stand in (CacheBlend). */
function mostDeviating(
  share: number,
  chunks: readonly PlannedChunk[],
  starts: readonly number[],
  repairable: readonly boolean[],
): number[] {
  const positions = chunks.flatMap(({ length }, index) =>
    repairable[index] === true ? Array.from({ length }, (_, token) => starts[index]! + token) : [],
  );
  const deviations = chunks.flatMap((chunk, index) =>
    repairable[index] === true ? Array.from(known(chunk.deviation, chunk, "deviation")) : [],
  );
  return ranked(deviations, Math.ceil(share * positions.length - 1e-9)).map((index) => positions[index]!);
}

function known(values: ArrayLike<number> | undefined, chunk: PlannedChunk, what: string): ArrayLike<number> {
  if (values?.length === chunk.length) return values;
  throw new RangeError(
    `the policy needs the ${what} of every token, ${chunk.length} of a chunk, not ${values?.length ?? 0}`,
  );
}

/** Indices of the highest values, the earlier of equals. */
function ranked(values: ArrayLike<number>, count: number): number[] {
  const indices = Array.from({ length: values.length }, (_, index) => index);
  return indices.sort((a, b) => values[b]! - values[a]! || a - b).slice(0, count);
}

function runsOf(chosen: Uint8Array): Run[] {
  const runs: Run[] = [];
  for (let start = chosen.indexOf(1); start >= 0;) {
    const end = chosen.indexOf(0, start);
    runs.push([start, end < 0 ? chosen.length : end]);
    start = end < 0 ? -1 : chosen.indexOf(1, end);
  }
  return runs;
}

/** Tokens in runs. */
export const tokensIn = (runs: readonly Run[]): number => runs.reduce((sum, [a, b]) => sum + b - a, 0);
