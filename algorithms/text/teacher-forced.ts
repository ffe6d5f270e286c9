// Divergence of two prefills of a prompt (docs/design/linked-prefill.md, Divergence), forced to one
// answer: the mean over its tokens, because the first alone misleads.

export interface Comparison {
  /** Mean Kullback-Leibler divergence of `other` from `reference`, nats, >= 0. */
  kl: number;
  /** Share of positions at which both find the same token most likely, [0, 1]. */
  agreement: number;
}

/** Logits row by row, rows x vocabulary. RangeError for other shapes or no row. */
export function compareLogits(reference: Float32Array, other: Float32Array, vocabulary: number): Comparison {
  const rows = reference.length / vocabulary;
  if (!(rows >= 1) || !Number.isInteger(rows) || reference.length !== other.length)
    throw new RangeError(`logits of ${reference.length} and ${other.length} are no rows of ${vocabulary}`);
  let kl = 0;
  let agreed = 0;
  for (let row = 0; row < rows; row++) {
    const [a, b] = [reference, other].map((all) => all.subarray(row * vocabulary, (row + 1) * vocabulary));
    const [top, normal] = peak(a!);
    const [otherTop, otherNormal] = peak(b!);
    if (top === otherTop) agreed++;
    for (let token = 0; token < vocabulary; token++) {
      const logP = a![token]! - normal;
      kl += Math.exp(logP) * (logP - (b![token]! - otherNormal));
    }
  }
  // Rounding may leave a hair below zero.
  return { kl: Math.max(0, kl / rows), agreement: agreed / rows };
}

/**
 * Log-probability of each token, nats, <= 0. Logits row by row, tokens.length x vocabulary, each of
 * the position before its token. RangeError for another shape.
 */
export function logProbabilities(logits: Float32Array, tokens: ArrayLike<number>): number[] {
  const vocabulary = logits.length / tokens.length;
  if (tokens.length === 0) return [];
  if (!(vocabulary >= 1) || !Number.isInteger(vocabulary))
    throw new RangeError(`${logits.length} logits are no rows of ${tokens.length} tokens`);
  return Array.from(tokens, (token, row) => {
    const own = logits.subarray(row * vocabulary, (row + 1) * vocabulary);
    return Math.min(0, own[token]! - peak(own)[1]);
  });
}

/** The first most likely token, and the logarithm of the sum of exponentials. */
function peak(logits: Float32Array): [token: number, normal: number] {
  let top = 0;
  for (let token = 1; token < logits.length; token++) if (logits[token]! > logits[top]!) top = token;
  const highest = logits[top]!;
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - highest);
  return [top, highest + Math.log(sum)];
}
