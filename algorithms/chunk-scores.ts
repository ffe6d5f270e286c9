// How far a chunk's KV cache may be reused behind another prefix than it was made behind (Cache-Craft, sections 3.1 to 3.3; docs/design/linked-prefill.md, Conventions).
// a_kl is the weight that the later token l puts on the earlier token k, mean over heads.

/** Sums of attention weights at one layer, for one chunk Ci behind its prefix chunks. */
export interface LayerAttention {
  /** inter(Cj, Ci) (eq. 3) per prefix chunk Cj, in order: sum of a_kl over k in Cj, l in Ci. */
  inter: ArrayLike<number>;
  /** intra(Ci) (eq. 4): sum of a_kl over k < l, both in Ci. */
  intra: number;
}

/** What is kept of a scoring pass with a chunk's cache. */
export interface ContextImpact {
  /** Cache Context Impact, [0.5, 1]: 0.5 is a chunk that looked at nothing before it. */
  cci: number;
  /** inter(Cj, Ci) per prefix chunk, mean over layers. */
  inter: number[];
  /** Token indices of Ci by inter-attention, highest first (eq. 14); ties in prompt order. */
  ranking: number[];
}

/**
 * `prefix`: tokens of each prefix chunk. `before`: for each token of Ci its attention on all of the prefix, mean over layers. Throws RangeError
 * when the sums do not have the lengths' shape.
 */
export function contextImpact(
  prefix: readonly number[],
  layers: readonly LayerAttention[],
  before: ArrayLike<number>,
): ContextImpact {
  const length = before.length;
  if (layers.length === 0 || length === 0)
    throw new RangeError("a chunk has at least one token, and a model one layer");
  const byChunk = prefix.map(() => 0);
  let a = 0;
  let b = 0;
  for (const { inter, intra } of layers) {
    if (inter.length !== prefix.length)
      throw new RangeError(`attention on ${inter.length} chunks does not fit a prefix of ${prefix.length}`);
    b += intra / length ** 2;
    for (const [chunk, tokens] of prefix.entries()) {
      byChunk[chunk]! += inter[chunk]!;
      a += inter[chunk]! / (length * tokens);
    }
  }
  // The layers' number stands on both sides of a/b and falls out.
  const tokens = Array.from({ length }, (_, token) => token);
  return {
    cci: cacheContextImpact(a, b),
    inter: byChunk.map((sum) => sum / layers.length),
    ranking: tokens.sort((one, other) => before[other]! - before[one]! || one - other),
  };
}

/** CCI = 1 / (1 + exp(-a/b)) (eq. 11) of normalised inter- and intra-attention, both >= 0; with no intra-attention all is context. */
export function cacheContextImpact(a: number, b: number): number {
  if (a === 0) return 0.5;
  return b === 0 ? 1 : 1 / (1 + Math.exp(-a / b));
}

/** A chunk of the prefix that a cache was made behind. */
export interface OldChunk {
  id: string;
  /** inter of it on the cached chunk. */
  inter: number;
}

/**
 * beta (eq. 6): share of the old prefix's inter-attention whose chunks stand before the cached chunk again. Cached alone: 1 when it is first
 * again, else 0. Where the chunk looked at none of its prefix the share of chunks stands for that of attention.
 */
export function prefixOverlap(old: readonly OldChunk[], now: readonly string[]): number {
  if (old.length === 0) return now.length === 0 ? 1 : 0;
  const present = new Set(now);
  const common = old.filter(({ id }) => present.has(id));
  const total = old.reduce((sum, { inter }) => sum + inter, 0);
  return total > 0 ? common.reduce((sum, { inter }) => sum + inter, 0) / total : common.length / old.length;
}

/** gamma (eq. 7): Kendall's tau distance between the common chunks' orders, [0, 1]; 0 for fewer than two. */
export function orderPenalty(old: readonly string[], now: readonly string[]): number {
  const place = new Map(now.map((id, index) => [id, index] as const));
  const common = [...new Set(old)].flatMap((id) => place.get(id) ?? []);
  let discordant = 0;
  for (const [index, at] of common.entries()) for (const later of common.slice(index + 1)) if (later < at) discordant++;
  return common.length < 2 ? 0 : discordant / ((common.length * (common.length - 1)) / 2);
}

/** Share of the new prefix's tokens that stood in the old prefix, [0, 1]; 1 for an empty one. */
export function knownShare(old: readonly string[], now: readonly { id: string; tokens: number }[]): number {
  const known = new Set(old);
  const total = now.reduce((sum, { tokens }) => sum + tokens, 0);
  if (total === 0) return 1;
  return now.reduce((sum, { id, tokens }) => sum + (known.has(id) ? tokens : 0), 0) / total;
}

/** A stored cache of a chunk. */
export interface Variant {
  cci: number;
  /** The prefix that it was made behind, in order. */
  prefix: readonly OldChunk[];
}

/**
 * CCI (1 - beta'), [0, 1]: the reusability score without alpha. `now`: the chunks before it in the new prompt, in order.
 * countNew multiplies beta by knownShare, for otherwise chunks that were not in the old prefix go unseen (docs/design/linked-prefill.md, Conventions; not in the paper).
 */
export function reusabilityScore(
  { cci, prefix }: Variant,
  now: readonly { id: string; tokens: number }[],
  { countNew = false }: { countNew?: boolean } = {},
): number {
  const ids = now.map(({ id }) => id);
  const old = prefix.map(({ id }) => id);
  const beta = prefixOverlap(prefix, ids) * (countNew ? knownShare(old, now) : 1);
  return Math.min(1, Math.max(0, cci * (1 - beta * (1 - orderPenalty(old, ids)))));
}

/** CFO (eq. 12) clipped to [0, 1]: the share of the chunk's tokens to recompute. */
export const cacheFixOverhead = (alpha: number, score: number): number => Math.min(1, Math.max(0, alpha * score));

/** Tokens of a chunk to recompute: the ceil(CFO * length) with the highest inter-attention (section 3.2.1). Indices, highest first. */
export function contextualisedTokens(ranking: readonly number[], cfo: number): number[] {
  // A hair less: 0.1 * 30 is 3.0000000000000004.
  return ranking.slice(0, Math.ceil(cfo * ranking.length - 1e-9));
}
