// What the log itself shows of an arm's queue: how many calls it had under way at once, and what a
// request waits when nothing is before it.

/** Of the calls of one arm, milliseconds; all arrays have the same length. */
export interface ObservedCalls {
  /** When they were handed on to the arm. */
  planned: Float64Array;
  /** When the call began, and when it was over. */
  began: Float64Array;
  ended: Float64Array;
}

/** Times are written down in whole milliseconds. */
const tolerance = 1;

/** The most calls under way at one time. */
export function mostAtOnce({ began, ended }: ObservedCalls): number {
  const begins = Float64Array.from(began, (at) => at + tolerance).sort();
  const ends = Float64Array.from(ended, (at) => at - tolerance).sort();
  return sweep(begins, ends);
}

function sweep(begins: Float64Array, ends: Float64Array): number {
  let [now, most, over] = [0, 0, 0];
  for (const begin of begins) {
    while (over < ends.length && ends[over]! <= begin) {
      over++;
      now--;
    }
    most = Math.max(most, ++now);
  }
  return Math.max(1, most);
}

const mostHops = 2_000;
/** So few idle moments say nothing. */
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
