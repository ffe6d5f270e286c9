// How many of its reply partitions a gateway uses. Reading one brings every response there, other
// clients' included, so a gateway with few requests reads few: where all clients use the topics
// themselves, it would otherwise read every response and deliver none.

/** Requests open on a partition before another one is used. */
const openOnEach = 32;

/** open: requests that wait now; used: partitions so far. Down by one at a time, and late. */
export function partitionsFor(open: number, used: number): number {
  const needed = Math.max(1, Math.ceil(open / openOnEach));
  if (needed >= used) return needed;
  return open <= ((used - 1) * openOnEach) / 2 ? used - 1 : used;
}
