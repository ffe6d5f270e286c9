// What waits outside of a stage's slots (slots.ts), bounded in records and bytes; a flow has at
// most as much as it leaves free. Pure.
import { leavesRoom } from "../algorithms/queueing/fair-queue.ts";

export interface PoolLimits {
  records: number;
  /** An empty pool takes a single record of any size. */
  bytes: number;
}

export type Pool = ReturnType<typeof createPool>;

export function createPool(limits: PoolLimits) {
  const flows = new Map<string, { records: number; bytes: number }>();
  const all = { records: 0, bytes: 0 };
  return {
    /** false: too much waits already, of this flow or of all. */
    enter(flow: string, bytes: number): boolean {
      const own = flows.get(flow) ?? { records: 0, bytes: 0 };
      const room =
        leavesRoom(own.records, 1, all.records, limits.records) &&
        (all.records === 0 || leavesRoom(own.bytes, bytes, all.bytes, limits.bytes));
      if (!room) return false;
      own.records++;
      own.bytes += bytes;
      flows.set(flow, own);
      all.records++;
      all.bytes += bytes;
      return true;
    },
    leave(flow: string, bytes: number): void {
      const own = flows.get(flow);
      if (own === undefined) return;
      own.records--;
      own.bytes -= bytes;
      if (own.records === 0) flows.delete(flow);
      all.records--;
      all.bytes -= bytes;
    },
    records: (): number => all.records,
  };
}
