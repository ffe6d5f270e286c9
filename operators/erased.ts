// Which of some hashes (algorithms/privacy/erasure.ts) belong to what was erased: record leaves
// their rows out, curate makes no examples of them. Rejects as the ClickHouse port does.
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import { slicesOf } from "../algorithms/lists/lists.ts";

/** Until when what bears a hash is erased, milliseconds since the epoch; Infinity: for good. */
export type Erased = ReadonlyMap<string, number>;

/** Parameters go into a URL. */
const atOnce = 1_000;
/** Where nothing was ever erased, that is asked again so often, milliseconds. */
const recheckMs = 1_000;

const FIND = `
  SELECT hash, if(max(before IS NULL), -1, toUnixTimestamp64Milli(max(assumeNotNull(before)))) AS until
  FROM erasures WHERE hash IN {hashes:Array(String)} GROUP BY hash`;

export function createErasedAmong({
  clickhouse,
  clock,
}: {
  clickhouse: Pick<ClickHouse, "query">;
  clock: () => number;
}): (hashes: Iterable<string>) => Promise<Erased> {
  let known = false;
  let askedAt = -Infinity;

  /** Whether anything was ever erased; where nothing was, no lookup is made. */
  async function isAnything(): Promise<boolean> {
    if (known || clock() - askedAt < recheckMs) return known;
    known = (await clickhouse.query("SELECT 1 FROM erasures LIMIT 1")).length > 0;
    askedAt = clock();
    return known;
  }

  return async function erasedAmong(hashes) {
    if (!(await isAnything())) return new Map();
    const found = new Map<string, number>();
    for (const wanted of slicesOf([...new Set(hashes)], atOnce)) {
      const rows = await clickhouse.query<{ hash: string; until: number }>(FIND, { hashes: wanted });
      for (const { hash, until } of rows) found.set(hash, Number(until) < 0 ? Infinity : Number(until));
    }
    return found;
  };
}
