// A stage's slots, shared between flows (tenants) by algorithms/queueing/fair-queue.ts. A waiting
// record gives its slot back into a bounded pool (pool.ts).
import { createFairQueue } from "../algorithms/queueing/fair-queue.ts";
import type { RawRecord } from "../connections/kafka/port.ts";
import { partitionKey, type PartitionState, type Task, type TaskEntry } from "./partition.ts";
import { createPool, type Pool } from "./pool.ts";
import { anotherRecord, type Waiting } from "./step.ts";

export interface SlotLimits {
  /** Records under way, and their bytes; a single larger one passes. */
  inFlight: number;
  inFlightBytes: number;
  /** Records parked in a pool; default 16 times inFlight. */
  parked?: number;
}

export interface SlotsOptions {
  limits: SlotLimits;
  /** Whose a record is; absent: all are of one flow. */
  flowOf?: (record: RawRecord) => string;
  /** Share of a flow, 1 by default. */
  weightOf?: (flow: string) => number;
}

export interface Turn {
  state: PartitionState;
  entry: TaskEntry;
}

/** Shares are whole numbers of this, so that sums are exact. */
const capacity = 1_000_000;

export function createSlots({ limits, flowOf = () => "", weightOf }: SlotsOptions) {
  const { inFlight: most, inFlightBytes: mostBytes, parked: mostParked = 16 * most } = limits;
  const queue = createFairQueue<Turn>(weightOf);
  const pools = new Map<string, Pool>();
  const taken = { records: 0, bytes: 0 };

  /** By records or by bytes, whichever it takes more of. */
  const costOf = ({ bytes }: Task): number => Math.ceil(capacity * Math.max(1 / most, bytes / mostBytes));

  const leave = (task: Task): void => {
    taken.records--;
    taken.bytes -= task.bytes;
    queue.release(task.flow, costOf(task));
  };

  const poolOf = (name: string): Pool => {
    const pool = pools.get(name) ?? createPool({ records: mostParked, bytes: mostBytes });
    pools.set(name, pool);
    return pool;
  };

  const unpark = (task: Task): void => {
    const { pool, bytes } = task.parkedIn ?? { pool: anotherRecord, bytes: task.bytes };
    poolOf(pool).leave(task.flow, bytes);
    task.parkedIn = undefined;
  };

  const admits = ({ state, entry }: Turn): boolean =>
    (entry.state !== "waiting" && entry.state !== "running") || state.window.admits(entry.offset);

  return {
    /** A record was delivered, or a parked one wants its slot back. */
    wait(turn: Turn): void {
      const { item } = turn.entry;
      // Not again for one that was parked: its bytes may be gone.
      if (turn.entry.state === "waiting") item.flow = flowOf(item.record);
      queue.push(item.flow, partitionKey(turn.state), turn, costOf(item));
    },

    next(): Turn | undefined {
      while (taken.records < most && (taken.records === 0 || taken.bytes < mostBytes)) {
        const turn = queue.take(admits);
        if (turn === undefined) return undefined;
        const { item, state } = turn.entry;
        if (state !== "waiting" && state !== "running") {
          // It ended (its deadline passed) while it waited for its slot again.
          queue.release(item.flow, costOf(item));
          continue;
        }
        if (item.slot === "parked") unpark(item);
        item.slot = "taken";
        taken.records++;
        taken.bytes += item.bytes;
        return turn;
      }
      return undefined;
    },

    /** Its outputs are committed, or are no longer wanted. */
    release(task: Task): void {
      if (task.slot === "taken") leave(task);
      if (task.slot === "parked") unpark(task);
      task.slot = "none";
    },

    /** Gives its slot back; false: too much is parked. `waiting`: the pool. */
    park(task: Task, waiting?: Waiting): boolean {
      const parkedIn = { pool: waiting?.pool ?? anotherRecord, bytes: Math.max(task.bytes, waiting?.bytes ?? 0) };
      const moves = task.slot === "parked" && waiting !== undefined && task.parkedIn?.pool !== parkedIn.pool;
      if (task.slot !== "taken" && !moves) return task.slot === "parked";
      if (!poolOf(parkedIn.pool).enter(task.flow, parkedIn.bytes)) return false;
      if (moves) unpark(task);
      else leave(task);
      task.slot = "parked";
      task.parkedIn = parkedIn;
      return true;
    },

    /** What waits in a partition belongs to another process. */
    drop(state: PartitionState): void {
      queue.dropLane(partitionKey(state));
    },
    inFlight: (): number => taken.records,
    /** Parked because something elsewhere is at work on them: under way, though without a slot. */
    elsewhere: (): number =>
      [...pools].reduce((sum, [name, pool]) => sum + (name === anotherRecord ? 0 : pool.records()), 0),
  };
}
