// 0/1 knapsack by value density: greedy, or the single most valuable item where that is worth more;
// at least half of the best value (Dantzig's bound). Pure.

export interface KnapsackItem {
  /** >= 0, finite. */
  value: number;
  /** >= 0, finite; the unit is the capacity's. */
  weight: number;
}

/** Indexes to keep, ascending; of equal density the earlier. RangeError for NaN, < 0. */
export function knapsack(items: readonly KnapsackItem[], capacity: number): number[] {
  for (const [index, { value, weight }] of items.entries())
    if (!(value >= 0 && Number.isFinite(value) && weight >= 0 && Number.isFinite(weight)))
      throw new RangeError(`item ${index} has value ${value} and weight ${weight}: both must be finite and >= 0`);
  // value / weight without dividing by 0: what weighs nothing is always kept.
  const order = items
    .map((item, index) => ({ ...item, index }))
    .sort((a, b) => b.value * a.weight - a.value * b.weight || a.weight - b.weight || a.index - b.index);
  const chosen: number[] = [];
  let left = capacity;
  let total = 0;
  for (const { index, value, weight } of order) {
    if (weight > left) continue;
    chosen.push(index);
    left -= weight;
    total += value;
  }
  const single = order.reduce<(typeof order)[number] | undefined>(
    (best, item) => (item.weight <= capacity && item.value > (best?.value ?? total) ? item : best),
    undefined,
  );
  if (single === undefined) return chosen.sort((a, b) => a - b);
  return fill(order, single.index, capacity - single.weight);
}

/** The single best, and whatever still fits beside it. */
function fill(order: readonly (KnapsackItem & { index: number })[], first: number, room: number): number[] {
  const chosen = [first];
  let left = room;
  for (const { index, weight } of order) {
    if (index === first || weight > left) continue;
    chosen.push(index);
    left -= weight;
  }
  return chosen.sort((a, b) => a - b);
}
