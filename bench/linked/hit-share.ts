// What share of the example tokens shown has a cache, as requests come: those built before, and
// those of every example shown before, since a request leaves the caches that it computed. Pure.
import { significant } from "../support/statistics.ts";

export interface HitRow {
  /** Requests until then. */
  requests: number;
  /** Since the row before; and since the beginning. [0, 1] */
  share: number;
  share_all: number;
}

/** A row at 10, 20, 50, 100, 200, 500 ... requests and at the end. lengths: tokens by example. */
export function hitShares(
  stream: readonly { shown: readonly number[] }[],
  lengths: readonly number[],
  built: ReadonlySet<number>,
): HitRow[] {
  const there = new Set(built);
  const rows: HitRow[] = [];
  let [hit, shown, allHit, allShown] = [0, 0, 0, 0];
  for (const [index, request] of stream.entries()) {
    for (const example of request.shown) {
      shown += lengths[example]!;
      if (there.has(example)) hit += lengths[example]!;
    }
    for (const example of request.shown) there.add(example);
    const requests = index + 1;
    if (!/^[125]0+$/.test(String(requests)) && requests < stream.length) continue;
    allHit += hit;
    allShown += shown;
    rows.push({ requests, share: significant(hit / shown), share_all: significant(allHit / allShown) });
    [hit, shown] = [0, 0];
  }
  return rows;
}
