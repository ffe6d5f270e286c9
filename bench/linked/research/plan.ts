// Which tokens of a linked prompt research policies recompute (docs/design/linked-prefill.md,
// Policies; Cache-Craft 3.2.1; CacheBlend), by what is known of each token. What is missing or
// among the last chunks is computed as under any policy.
import {
  layout,
  type PlannedChunk,
  planRecompute,
  type Run,
  runsOf,
} from "../../../algorithms/linked-prefill/link-plan.ts";
import type { Random } from "../../../algorithms/numeric/random.ts";
import { type ComparedPolicy, isResearch, type ResearchPolicy } from "./policy.ts";

/** A chunk with what policies want to know of it. */
export interface KnownChunk extends PlannedChunk {
  /**
   * For blend: how far K and V of each token are from freshly computed ones on the first layers.
   */
  deviation?: ArrayLike<number>;
  /** For the control "attended": attention that each token gets from the question. */
  attention?: ArrayLike<number>;
  /**
   * craft: false leaves the chunk unrepaired, because the question does not attend to it
   * (focus.ts).
   */
  focused?: boolean;
}

/** As planRecompute. `random` is drawn from by the control of that name alone. */
export function planCompared(policy: ComparedPolicy, chunks: readonly KnownChunk[], random: Random): Run[] {
  if (!isResearch(policy)) return planRecompute(policy, chunks);
  const { kind, amount, last } = policy;
  if (kind === "craft") return planRecompute({ kind, amount, last }, chunks.map(inFocus));
  const { starts, total, repairable } = layout(chunks, policy.last);
  const chosen = new Uint8Array(total);
  for (const [a, b] of planRecompute({ kind: "naive", amount: 0, last: policy.last }, chunks)) chosen.fill(1, a, b);
  if (policy.kind === "blend")
    for (const position of mostDeviating(policy.amount, chunks, starts, repairable)) chosen[position] = 1;
  else
    for (const [index, repaired] of repairable.entries())
      if (repaired && !(policy.kind === "lego" && index === 0))
        for (const token of tokensOf(policy, chunks[index]!, random)) chosen[starts[index]! + token] = 1;
  return runsOf(chosen);
}

function tokensOf(policy: ResearchPolicy, chunk: KnownChunk, random: Random): readonly number[] {
  const count = Math.ceil(policy.amount * chunk.length - 1e-9);
  if (policy.kind === "random")
    return ranked(
      Array.from({ length: chunk.length }, () => random()),
      count,
    );
  // The first chunk stands where it stood when it was cached.
  if (policy.kind === "lego") return Array.from({ length: Math.min(policy.amount, chunk.length) }, (_, token) => token);
  return ranked(known(chunk.attention, chunk, "attention"), count);
}

/** What is out of focus is not repaired. */
const inFocus = (chunk: KnownChunk): PlannedChunk =>
  chunk.focused === false ? { ...chunk, impact: { score: 0, ranking: [] } } : chunk;

/**
 * The share of all repairable tokens that deviate most, whichever chunks they stand in
 * (CacheBlend).
 */
function mostDeviating(
  share: number,
  chunks: readonly KnownChunk[],
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

function known(values: ArrayLike<number> | undefined, chunk: KnownChunk, what: string): ArrayLike<number> {
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
