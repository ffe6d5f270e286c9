// Which chunks a question looks at (Cache-Craft, Algorithm 1), and how many layers to load before
// computing may begin (eq. 16).

// Gaps of a few equal scores differ by rounding alone; scores come as sums of 32-bit floats.
const rounding = 1e-6;

const descending = (scores: readonly number[]): { score: number; chunk: number }[] =>
  scores.map((score, chunk) => ({ score, chunk })).sort((a, b) => b.score - a.score || a.chunk - b.chunk);

function gapsOf(scores: readonly number[]): number[] {
  const sorted = descending(scores);
  return sorted.slice(1).map(({ score }, index) => sorted[index]!.score - score);
}

function firstLargest(values: readonly number[]): number {
  let best = 0;
  for (const [index, value] of values.entries()) if (value > values[best]! + rounding) best = index;
  return best;
}

/**
 * How many of the highest scores (>= 0, any order) are focused, by entropy: p_i = gap_i / sum of
 * gaps; h_i = -sum_{j<=i} p_j ln p_j; the first i that maximises h_{i+1} - h_i, i from 1 to k - 2.
 * Fewer than three chunks or no gaps: all.
 */
export function focusedCount(scores: readonly number[]): number {
  const gaps = gapsOf(scores);
  const total = gaps.reduce((sum, gap) => sum + gap, 0);
  if (scores.length < 3 || total <= rounding * Math.abs(Math.max(...scores))) return scores.length;
  // h_{i+1} - h_i is the entropy term of gap i + 1 alone.
  const terms = gaps.slice(1).map((gap) => (gap > 0 ? -(gap / total) * Math.log(gap / total) : 0));
  return firstLargest(terms) + 1;
}

/** The control beside it: all that stand above the largest gap. Same edges. */
export function largestGapCount(scores: readonly number[]): number {
  const gaps = gapsOf(scores);
  if (scores.length < 3 || gaps.every((gap) => gap <= rounding * Math.abs(Math.max(...scores)))) return scores.length;
  return firstLargest(gaps) + 1;
}

/** Indices of the highest `count` scores, ascending; the earlier of equals. */
export function highest(scores: readonly number[], count: number): number[] {
  return descending(scores)
    .slice(0, count)
    .map(({ chunk }) => chunk)
    .sort((a, b) => a - b);
}

/**
 * Focused chunks and the layers (from 1) that it took to see them: scores cumulate over layers
 * until the same set came `window` times in a row; the last layer's set when it never did.
 * `layers`: question attention per chunk, one row a layer. Throws RangeError for no layer.
 */
export function focusedChunks(
  layers: readonly (readonly number[])[],
  window: number,
  count: (scores: readonly number[]) => number = focusedCount,
): { chunks: number[]; layers: number } {
  const [first] = layers;
  if (first === undefined) throw new RangeError("question attention of at least one layer is needed");
  const sums = first.map(() => 0);
  let focus: number[] = [];
  let same = 0;
  for (const [index, scores] of layers.entries()) {
    for (const [chunk, score] of scores.entries()) sums[chunk]! += score;
    const next = highest(sums, count(sums));
    same = index > 0 && next.join() === focus.join() ? same + 1 : 1;
    focus = next;
    if (same >= window) return { chunks: focus, layers: index + 1 };
  }
  return { chunks: focus, layers: layers.length };
}

// Both times are measured, so a hundredth of a layer too much is no reason for one more.
const layerRounding = 0.01;

/**
 * Layers whose caches must be there before the first is computed, 1 to `layers`; times in any one
 * unit, both of the whole depth.
 */
export function preloadDepth(layers: number, prefillTime: number, loadTime: number): number {
  if (!(loadTime > prefillTime)) return 1;
  const depth = Math.ceil((layers - 1) * (1 - prefillTime / loadTime) + 1 - layerRounding);
  return Math.min(layers, Math.max(1, depth));
}
