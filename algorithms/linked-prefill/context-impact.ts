// How much a chunk looks at what stands before it, and which of its tokens do so most (Cache-Craft,
// sections 3.1 and 3.2). a_kl is the weight that the later token l puts on the earlier token k,
// mean over heads.

/** Sums of attention weights at one layer, for one chunk Ci behind its prefix chunks. */
export interface LayerAttention {
  /** inter(Cj, Ci) (eq. 3) per prefix chunk Cj, in order: sum of a_kl over k in Cj, l in Ci. */
  inter: ArrayLike<number>;
  /** intra(Ci) (eq. 4): sum of a_kl over k < l, both in Ci. */
  intra: number;
}

/**
 * What is kept of a scoring pass with a chunk's cache. `prefix`: tokens of each prefix chunk.
 * `before`: for each token of Ci its attention on all of the prefix, mean over layers. Throws
 * RangeError when the sums do not have the lengths' shape.
 */
export function contextImpact(prefix: readonly number[], layers: readonly LayerAttention[], before: ArrayLike<number>) {
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
    /** Cache Context Impact, [0.5, 1]: 0.5 is a chunk that looked at nothing before it. */
    cci: cacheContextImpact(a, b),
    /** inter(Cj, Ci) per prefix chunk, mean over layers. */
    inter: byChunk.map((sum) => sum / layers.length),
    /** Token indices of Ci by inter-attention, highest first (eq. 14); ties in prompt order. */
    ranking: tokens.sort((one, other) => before[other]! - before[one]! || one - other),
  };
}

/** CCI = 1 / (1 + exp(-a/b)) (eq. 11) of normalised inter- and intra-attention, both >= 0. */
export function cacheContextImpact(a: number, b: number): number {
  if (a === 0) return 0.5;
  return b === 0 ? 1 : 1 / (1 + Math.exp(-a / b));
}

/** CFO (eq. 12) clipped to [0, 1]: the share of the chunk's tokens to recompute. */
export const cacheFixOverhead = (alpha: number, score: number): number => Math.min(1, Math.max(0, alpha * score));

/** The ceil(CFO * length) tokens with the highest inter-attention (3.2.1), highest first. */
export function contextualisedTokens(ranking: readonly number[], cfo: number): number[] {
  // A hair less: 0.1 * 30 is 3.0000000000000004.
  return ranking.slice(0, Math.ceil(cfo * ranking.length - 1e-9));
}
