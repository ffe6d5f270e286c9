// Hours and arms whose sums are computed anew, a piece a statement. Pure.

export interface Bucket {
  tenant: string;
  arm: string;
  model: string;
  /** Seconds since the epoch. */
  hour: number;
}

const hourSeconds = 3_600;
/** Hours recomputed in one statement: bounds what a rebuild holds in memory. */
const spanHours = 24;
/** Buckets of one statement: with many tenants an hour has many. */
const mostBuckets = 20_000;

/** In the order of their hours, cut so that each piece spans few hours and has few buckets. */
export function spans<T extends Pick<Bucket, "hour">>(buckets: readonly T[]): T[][] {
  const pieces: T[][] = [];
  for (const bucket of [...buckets].sort((one, other) => one.hour - other.hour)) {
    const piece = pieces.at(-1);
    const first = piece?.[0];
    const fits = first !== undefined && bucket.hour - first.hour < spanHours * hourSeconds;
    if (piece !== undefined && fits && piece.length < mostBuckets) piece.push(bucket);
    else pieces.push([bucket]);
  }
  return pieces;
}
