// How far a chunk's KV cache may be reused behind another prefix than it was made behind
// (Cache-Craft, sections 3.1 and 3.3; docs/design/linked-prefill.md, Conventions).

export interface OldChunk {
  id: string;
  /** inter of it on the cached chunk. */
  inter: number;
}

/**
 * beta (eq. 6): share of the old prefix's inter-attention whose chunks stand before the chunk
 * again. Cached alone: 1 when first again, else 0.
 */
export function prefixOverlap(old: readonly OldChunk[], now: readonly string[]): number {
  if (old.length === 0) return now.length === 0 ? 1 : 0;
  const present = new Set(now);
  const common = old.filter(({ id }) => present.has(id));
  const total = old.reduce((sum, { inter }) => sum + inter, 0);
  return total > 0 ? common.reduce((sum, { inter }) => sum + inter, 0) / total : common.length / old.length;
}

/** gamma (eq. 7): Kendall's tau distance of the common chunks' orders, [0, 1]; 0 below two. */
export function orderPenalty(old: readonly string[], now: readonly string[]): number {
  const position = new Map(now.map((id, index) => [id, index] as const));
  const common = [...new Set(old)].flatMap((id) => position.get(id) ?? []);
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
 * CCI (1 - beta'), [0, 1]. now: chunks before it in the new prompt. countNew multiplies beta by
 * knownShare (not in the paper): otherwise new chunks go unseen.
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
