// Which tokens of a linked prompt are recomputed (docs/design/linked-prefill.md, Policies; EPIC
// 4.2; Cache-Craft 3.2.1). Positions count from the first chunk; the question is in no plan.
import { cacheFixOverhead, contextualisedTokens } from "./context-impact.ts";
import { type ChunkKind, chunkKind, chunkKinds, type LinkPolicies, type LinkPolicy } from "./link-policy.ts";

export interface PlannedChunk {
  /** Tokens, >= 1. */
  length: number;
  /** missing: no cache. exact: cached behind this very beginning; only `full` computes it again. */
  state: "linked" | "missing" | "exact";
  /** For craft: CCI (1 - beta'), and its tokens by inter-attention, highest first. */
  impact?: { score: number; ranking: readonly number[] } | undefined;
}

/** Positions from a up to, and not including, b. */
export type Run = readonly [a: number, b: number];

/** Ascending, apart from each other, never empty. */
export function planRecompute(policies: LinkPolicies, chunks: readonly PlannedChunk[]): Run[] {
  if ("kind" in policies) return planAll(policies, chunks);
  const linked = new Set(chunks.flatMap(({ state, length }) => (state === "linked" ? [chunkKind(length)] : [])));
  const [kind, other] = linked;
  if (other === undefined) return planAll(policies[kind ?? "short"], chunks);
  const { total } = layout(chunks, 0);
  const chosen = new Uint8Array(total);
  for (const one of chunkKinds) for (const [a, b] of planKind(one, policies[one], chunks)) chosen.fill(1, a, b);
  return runsOf(chosen);
}

/** How a policy treats the chunks of one kind; `last` counts only these. */
function planKind(kind: ChunkKind, policy: LinkPolicy, chunks: readonly PlannedChunk[]): Run[] {
  const isOwn = ({ length }: PlannedChunk): boolean => chunkKind(length) === kind;
  const own = chunks.flatMap((chunk, index) => (isOwn(chunk) ? [index] : []));
  const first = own[own.length - policy.last] ?? (policy.last === 0 ? chunks.length : 0);
  const last = policy.kind === "full" ? chunks.length : chunks.length - first;
  // An exact chunk is neither computed nor repaired.
  const others = chunks.map((chunk): PlannedChunk => (isOwn(chunk) ? chunk : { ...chunk, state: "exact" }));
  return planAll({ ...policy, kind: policy.kind === "full" ? "naive" : policy.kind, last }, others);
}

function planAll(policy: LinkPolicy, chunks: readonly PlannedChunk[]): Run[] {
  const { starts, total, repairable } = layout(chunks, policy.last);
  if (policy.kind === "full") return total === 0 ? [] : [[0, total]];
  const chosen = new Uint8Array(total);
  const mark = (a: number, b: number): void => void chosen.fill(1, Math.max(0, a), Math.min(total, b));
  for (const [index, { length, state }] of chunks.entries())
    if (state !== "exact" && repairable[index] === false) mark(starts[index]!, starts[index]! + length);

  if (policy.kind === "attnlink") {
    for (const [index, repaired] of repairable.entries()) {
      // Its start is first in the prompt, as it was in its cache: no boundary.
      if (!repaired || index === 0) continue;
      const boundary = starts[index]!;
      const before = Math.floor(policy.amount / 2);
      if (repairable[index - 1] === true) mark(Math.max(boundary - before, starts[index - 1]!), boundary);
      mark(boundary, boundary + Math.min(policy.amount - before, chunks[index]!.length));
    }
  } else if (policy.kind === "craft") {
    for (const [index, chunk] of chunks.entries())
      if (repairable[index] === true)
        for (const token of tokensOfCraft(policy.amount, chunk)) chosen[starts[index]! + token] = 1;
  } else if (policy.kind === "prefix") {
    // As the longest prefix that can be put together in any order, and the rest computed.
    const whole = chunks.map(({ state }) => state !== "missing");
    const firstMissing = whole.includes(false) ? starts[whole.indexOf(false)]! : total;
    mark(Math.min(firstMissing, total - Math.ceil(policy.amount * total)), total);
  }
  return runsOf(chosen);
}

/** All tokens of a chunk without a score, as though all depended on what stood before. */
function tokensOfCraft(alpha: number, { length, impact }: PlannedChunk): readonly number[] {
  if (impact === undefined) return Array.from({ length }, (_, token) => token);
  return contextualisedTokens(impact.ranking, cacheFixOverhead(alpha, impact.score));
}

export interface Layout {
  /** Position of each chunk's first token. */
  starts: number[];
  total: number;
  /** Where what stands before is not what the cache was made behind. */
  repairable: boolean[];
}

export function layout(chunks: readonly PlannedChunk[], last: number): Layout {
  const starts: number[] = [];
  let total = 0;
  for (const { length } of chunks) {
    starts.push(total);
    total += length;
  }
  const firstLast = Math.max(0, chunks.length - last);
  return { starts, total, repairable: chunks.map(({ state }, index) => state === "linked" && index < firstLast) };
}

export function runsOf(chosen: Uint8Array): Run[] {
  const runs: Run[] = [];
  for (let start = chosen.indexOf(1); start >= 0;) {
    const end = chosen.indexOf(0, start);
    runs.push([start, end < 0 ? chosen.length : end]);
    start = end < 0 ? -1 : chosen.indexOf(1, end);
  }
  return runs;
}

export const tokensIn = (runs: readonly Run[]): number => runs.reduce((sum, [a, b]) => sum + b - a, 0);
