// Robust line through times: constant and slopes >= 0, by iterated least squares with Huber's
// weights on relative errors. Linear in the rows.
import { addOuter, cholesky, packedLength, solveCholesky } from "../../numeric/matrix.ts";
import { medianOf } from "../../numeric/quantile.ts";

export interface Line {
  constant: number;
  /** Slope per column; null: the column hardly varies, or its slope is not positive. */
  slopes: (number | null)[];
  /** Errors are relative to the prediction, and to this where it is smaller. */
  floor: number;
}

/** Huber's: 95 % as good as least squares where errors are normal. */
const huber = 1.345;
const rounds = 30;
/** A column whose values differ by a smaller share of their mean says nothing. */
const leastVariation = 0.01;
/** Errors of less than this share of the time are as good as none. */
const leastScale = 1e-6;
/** Predictions below this share of the typical time are held for as large as it. */
const floorShare = 0.1;

/** Predicted time, at least `floor`. */
export function predicted({ constant, slopes, floor }: Line, row: readonly number[]): number {
  return Math.max(
    floor,
    slopes.reduce<number>((sum, slope, j) => sum + (slope ?? 0) * row[j]!, constant),
  );
}

/** columns: as many values each as times, finite, >= 0. RangeError without any time. */
export function fitLine(columns: readonly Float64Array[], times: Float64Array): Line {
  if (times.length === 0) throw new RangeError("there are no times to fit");
  const floor = Math.max(1e-6, floorShare * medianOf(times));
  let used = columns.flatMap((column, j) => (varies(column) ? [j] : []));
  let withConstant = true;
  for (;;) {
    const weights = fitted(
      used.map((j) => columns[j]!),
      withConstant,
      times,
      floor,
    );
    const constant = withConstant ? weights[0]! : 0;
    const slopes = Array.from(weights.subarray(withConstant ? 1 : 0));
    // The most wrong one goes first, by what it takes away of a typical call.
    const harm = slopes.map((slope, i) => slope * mean(columns[used[i]!]!));
    const worst = harm.reduce((least, value, i) => (value < harm[least]! ? i : least), 0);
    if (used.length > 0 && harm[worst]! <= 0 && harm[worst]! <= constant) used = used.filter((_, i) => i !== worst);
    else if (withConstant && constant < 0 && used.length > 0) withConstant = false;
    else {
      const of = new Map(used.map((j, i) => [j, slopes[i]!]));
      return { constant: Math.max(0, constant), slopes: columns.map((_, j) => of.get(j) ?? null), floor };
    }
  }
}

const mean = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function varies(column: Float64Array): boolean {
  const middle = mean(column);
  const variance = column.reduce((sum, value) => sum + (value - middle) ** 2, 0) / column.length;
  return Math.sqrt(variance) > leastVariation * Math.abs(middle);
}

/** The constant, if any, and the slopes of these columns, of whatever sign. */
function fitted(
  columns: readonly Float64Array[],
  withConstant: boolean,
  times: Float64Array,
  floor: number,
): Float64Array {
  const rows = times.length;
  // Columns in units of their own size, or the sums lose digits.
  const units = columns.map((column) => Math.max(1e-12, mean(column)));
  const width = columns.length + (withConstant ? 1 : 0);
  if (width === 0) return new Float64Array(0);
  const row = new Float64Array(width);
  const fill = (i: number): void => {
    let at = 0;
    if (withConstant) row[at++] = 1;
    for (let j = 0; j < columns.length; j++) row[at++] = columns[j]![i]! / units[j]!;
  };
  const inverse = new Float64Array(rows).fill(1 / Math.max(floor, medianOf(times)));
  const huberWeight = new Float64Array(rows).fill(1);
  const errors = new Float64Array(rows);
  let weights = new Float64Array(width);
  for (let round = 0; round < rounds; round++) {
    const packed = new Float64Array(packedLength(width));
    const target = new Float64Array(width);
    for (let i = 0; i < rows; i++) {
      fill(i);
      const weight = huberWeight[i]! * inverse[i]! ** 2;
      addOuter(packed, row, weight);
      for (let j = 0; j < width; j++) target[j] = target[j]! + weight * row[j]! * times[i]!;
    }
    const before = weights;
    weights = Float64Array.from(solveCholesky(cholesky(packed), target));
    for (let i = 0; i < rows; i++) {
      fill(i);
      let reported = 0;
      for (let j = 0; j < width; j++) reported += weights[j]! * row[j]!;
      inverse[i] = 1 / Math.max(floor, reported);
      errors[i] = (times[i]! - reported) * inverse[i]!;
    }
    const scale = Math.max(leastScale, 1.4826 * medianOf(errors.map(Math.abs)));
    for (let i = 0; i < rows; i++) huberWeight[i] = Math.min(1, (huber * scale) / Math.abs(errors[i]!));
    if (weights.every((weight, j) => Math.abs(weight - before[j]!) <= 1e-9 * Math.abs(weight))) break;
  }
  const first = withConstant ? 1 : 0;
  return weights.map((weight, j) => (j < first ? weight : weight / units[j - first]!));
}
