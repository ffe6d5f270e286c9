// Isotonic regression: the non-decreasing function nearest to weighted points by squared error, by
// the pool-adjacent-violators algorithm (Barlow et al. 1972). O(n log n). Pure.

export interface WeightedPoint {
  x: number;
  y: number;
  /** Above 0. */
  weight: number;
}

/** Points that have one value: their weighted means, and their weights summed. */
export type Block = WeightedPoint;

/** Blocks by ascending x with strictly ascending y; points of one x are one. All are finite. */
export function isotonicBlocks(points: readonly WeightedPoint[]): Block[] {
  const blocks: Block[] = [];
  for (const point of merged(points)) {
    let last = point;
    for (let before = blocks.at(-1); before !== undefined && before.y >= last.y; before = blocks.at(-1)) {
      blocks.pop();
      last = joined(before, last);
    }
    blocks.push(last);
  }
  return blocks;
}

function merged(points: readonly WeightedPoint[]): WeightedPoint[] {
  const result: WeightedPoint[] = [];
  for (const point of [...points].sort((a, b) => a.x - b.x || a.y - b.y || a.weight - b.weight)) {
    const last = result.at(-1);
    if (last?.x === point.x) result[result.length - 1] = { ...joined(last, point), x: point.x };
    else result.push(point);
  }
  return result;
}

function joined(a: Block, b: Block): Block {
  const weight = a.weight + b.weight;
  const mean = (of: (block: Block) => number): number => of(a) + (b.weight / weight) * (of(b) - of(a));
  return { x: mean(({ x }) => x), y: mean(({ y }) => y), weight };
}
