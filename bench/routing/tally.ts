// What a policy's answers to a log were worth, row by row and, of the router, order by order: means
// of a bootstrap that draws requests and orders come from the same sums. Pure.
import type { Pass } from "./passes.ts";
import type { Worth } from "./worth.ts";

/** Worth of a policy by row: the sum over all its answers to the row, and how many those are. */
export interface Sums {
  sums: Float64Array;
  counts: Float64Array;
}

export interface Tally extends Sums {
  /** The same by order of the requests; absent where the policy doesn't depend on the order. */
  orders?: readonly Sums[];
}

/** How often each row counts, and each order; as in the log where undefined. */
export interface Draw {
  rows: Float64Array;
  orders: readonly number[];
}

export function tallied(length: number, values: Iterable<readonly [row: number, value: number]>): Sums {
  const [sums, counts] = [new Float64Array(length), new Float64Array(length)];
  for (const [row, value] of values) {
    sums[row]! += value;
    counts[row]!++;
  }
  return { sums, counts };
}

/** Worth of the answers of every pass, from the position `from` on. */
export function answered(worth: Worth, passes: readonly Pass[], from: number): Tally {
  const orders = passes.map(({ order, arms }) =>
    tallied(
      worth.length,
      order.slice(from).map((row, at) => [row, worth[row]![arms[from + at]!]!] as const),
    ),
  );
  return { ...together(orders, worth.length), orders };
}

function together(all: readonly Sums[], length: number): Sums {
  const added = (of: (one: Sums) => Float64Array): Float64Array =>
    Float64Array.from({ length }, (_, i) => all.reduce((sum, one) => sum + of(one)[i]!, 0));
  return { sums: added(({ sums }) => sums), counts: added(({ counts }) => counts) };
}

/** Mean worth an answer. An order that a tally doesn't have counts for nothing. */
export function meanOf({ orders, ...all }: Tally, draw?: Draw): number {
  if (draw === undefined) return ratioOf([[all, 1]]);
  if (orders === undefined) return ratioOf([[all, 1]], draw.rows);
  return ratioOf(
    orders.map((one, i) => [one, draw.orders[i] ?? 0] as const),
    draw.rows,
  );
}

function ratioOf(parts: readonly (readonly [Sums, number])[], weights?: Float64Array): number {
  let [sum, count] = [0, 0];
  for (const [{ sums, counts }, times] of parts) {
    if (times === 0) continue;
    for (let i = 0; i < sums.length; i++) {
      const weight = times * (weights === undefined ? 1 : weights[i]!);
      sum += weight * sums[i]!;
      count += weight * counts[i]!;
    }
  }
  return sum / count;
}

/** Worth less that of a policy that doesn't depend on the order, on the same answers. */
export function gainOver({ orders, ...all }: Tally, other: Sums): Tally {
  const less = ({ sums, counts }: Sums): Sums => ({
    sums: sums.map((sum, i) => (counts[i]! === 0 ? 0 : sum - (counts[i]! * other.sums[i]!) / other.counts[i]!)),
    counts,
  });
  return { ...less(all), ...(orders && { orders: orders.map(less) }) };
}
