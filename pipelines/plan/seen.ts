// The ids that a process must know before it takes the first request of a partition. Answering
// matters more than knowing them: without them a repeat that crosses this rebalance is answered
// anew, so a ClickHouse that fails or hangs is not waited for.
import type { Logger } from "pino";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { restoreSeen } from "../../operators/deduplicate/restore.ts";
import type { SeenIds } from "../../operators/deduplicate/seen.ts";
import { atMost } from "../../runtime/at-most.ts";

const restoreMs = 5_000;

export interface RestoringSeen {
  clickhouse: Pick<ClickHouse, "query">;
  seen: Pick<SeenIds, "restore">;
  /** Milliseconds since the epoch. */
  clock: () => number;
  log: Logger;
}

/** Those of the last day, of partitions of the topic of requests. Never rejects. */
export async function restoreSeenIds(
  { clickhouse, seen, clock, log }: RestoringSeen,
  topic: string,
  partitions: readonly number[],
): Promise<void> {
  try {
    const found = await atMost(restoreMs, restoreSeen(clickhouse, topic, partitions, clock()));
    if (found === undefined) throw new Error(`ClickHouse has not answered within ${restoreMs} ms`);
    seen.restore(found);
  } catch (error) {
    log.warn({ err: error }, "the ids of the last day could not be restored");
  }
}
