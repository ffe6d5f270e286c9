// What the log itself shows of an arm's queue: how many calls it had under way at once, and what a
// request waits when nothing is before it.

/** Observed calls of one arm, milliseconds; all arrays have the same length. */
export interface ObservedCalls {
  /** When they were handed on to the arm. */
  planned: Float64Array;
  /** When the call began, and when it was over. */
  began: Float64Array;
  ended: Float64Array;
}

/**
 * The end of a call is recorded after its slot is freed: by a millisecond, or by more if its
 * process was busy. Tolerance for this, per call: a constant, and a share of its duration.
 */
const tolerance = { ms: 1, share: 0.1 };
/** So many of the calls may have found more at once than there were places, for the same reason. */
const strays = 0.01;

/** The most calls under way at one time, but for strays. */
export function mostAtOnce({ began, ended }: ObservedCalls): number {
  const begins = Float64Array.from(began, (at) => at + tolerance.ms).sort();
  const ends = ended.map((at, i) => at - Math.max(tolerance.ms, tolerance.share * (at - began[i]!))).sort();
  let over = 0;
  const atOnce = begins.map((begin, before) => {
    while (over < ends.length && ends[over]! <= begin) over++;
    return before + 1 - over;
  });
  atOnce.sort();
  return Math.max(1, atOnce[Math.ceil((1 - strays) * atOnce.length) - 1] ?? 1);
}

const mostHops = 2_000;
/** Minimum idle moments for an estimate. */
const leastIdle = 20;

/**
 * Waits of requests that came while fewer than `places` others were unfinished: what topics and
 * transactions take. Where that hardly happened, the shortest wait of all alone.
 */
export function idleWaits({ planned, began, ended }: ObservedCalls, places: number): Float64Array {
  const order = Array.from(planned.keys()).sort((a, b) => planned[a]! - planned[b]!);
  const ends = Float64Array.from(ended).sort();
  const idle: number[] = [];
  let over = 0;
  for (const [before, i] of order.entries()) {
    while (over < ends.length && ends[over]! <= planned[i]!) over++;
    if (before - over < places) idle.push(began[i]! - planned[i]!);
  }
  if (idle.length < leastIdle) {
    let shortest = Infinity;
    for (let i = 0; i < planned.length; i++) shortest = Math.min(shortest, began[i]! - planned[i]!);
    return Float64Array.of(Number.isFinite(shortest) ? Math.max(0, shortest) : 0);
  }
  const kept = Math.min(mostHops, idle.length);
  return Float64Array.from({ length: kept }, (_, i) => Math.max(0, idle[Math.floor((i * idle.length) / kept)]!));
}
