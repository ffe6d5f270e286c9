// The places of a stage: how much it has under way, whose turn is next, and what waits outside of
// them. Places are shared between flows (the tenants, as assembly says) by
// algorithms/fair-queue.ts; a record that only waits for another one that is under way gives its
// place back meanwhile (it is parked), within bounds of its own. Knows no operator and no clock.
import { createFairQueue, leavesRoom } from "../algorithms/fair-queue.ts";
import type { RawRecord } from "../connections/kafka/port.ts";
import { partitionKey, type PartitionState, type Task, type TaskEntry } from "./partition.ts";

export interface PlaceLimits {
  /** Records under way, and their bytes; a single larger one passes. */
  inFlight: number;
  inFlightBytes: number;
  /**
   * Records that may be parked; their bytes are bounded by inFlightBytes. 16 times inFlight by
   * default.
   */
  parked?: number;
}

export interface PlacesOptions {
  limits: PlaceLimits;
  /** Whose a record is; absent: all are of one flow. */
  flowOf?: (record: RawRecord) => string;
  /** Share of a flow, 1 by default. */
  weightOf?: (flow: string) => number;
}

export interface Turn {
  state: PartitionState;
  entry: TaskEntry;
}

export interface Places {
  /** A record was delivered, or a parked one wants its place back. */
  wait(turn: Turn): void;
  /**
   * The next one to start, which has its place from now on; undefined: all are taken, or nothing
   * that waits may start.
   */
  next(): Turn | undefined;
  /** Its outputs are committed, or nobody wants them any more. */
  release(task: Task): void;
  /** Gives its place back; false: too much is parked already, by its flow or by all. */
  park(task: Task): boolean;
  /** What waits in a partition is somebody else's. */
  drop(state: PartitionState): void;
  inFlight(): number;
  parked(): number;
}

/**
 * What a stage's places are divided into: a record's share is a whole number of them, so that sums
 * are exact.
 */
const capacity = 1_000_000;

export function createPlaces({ limits, flowOf = () => "", weightOf }: PlacesOptions): Places {
  const { inFlight: most, inFlightBytes: mostBytes, parked: mostParked = 16 * most } = limits;
  const queue = createFairQueue<Turn>(weightOf);
  const parkedBy = new Map<string, { records: number; bytes: number }>();
  const taken = { records: 0, bytes: 0 };
  const parked = { records: 0, bytes: 0 };

  /** By records or by bytes, whichever it takes more of. */
  const costOf = ({ bytes }: Task): number => Math.ceil(capacity * Math.max(1 / most, bytes / mostBytes));

  const leave = (task: Task): void => {
    taken.records--;
    taken.bytes -= task.bytes;
    queue.release(task.flow, costOf(task));
  };

  const unpark = (task: Task): void => {
    const own = parkedBy.get(task.flow);
    if (own === undefined) return;
    own.records--;
    own.bytes -= task.bytes;
    if (own.records === 0) parkedBy.delete(task.flow);
    parked.records--;
    parked.bytes -= task.bytes;
  };

  const admits = ({ state, entry }: Turn): boolean =>
    (entry.state !== "waiting" && entry.state !== "running") || state.window.admits(entry.offset);

  return {
    wait(turn) {
      const { item } = turn.entry;
      // Not again for one that was parked: its bytes may be gone.
      if (turn.entry.state === "waiting") item.flow = flowOf(item.record);
      queue.push(item.flow, partitionKey(turn.state), turn, costOf(item));
    },

    next() {
      while (taken.records < most && (taken.records === 0 || taken.bytes < mostBytes)) {
        const turn = queue.take(admits);
        if (turn === undefined) return undefined;
        const { item, state } = turn.entry;
        if (state !== "waiting" && state !== "running") {
          // It ended (its deadline passed) while it waited for its place again.
          queue.release(item.flow, costOf(item));
          continue;
        }
        if (item.place === "parked") unpark(item);
        item.place = "taken";
        taken.records++;
        taken.bytes += item.bytes;
        return turn;
      }
      return undefined;
    },

    release(task) {
      if (task.place === "taken") leave(task);
      if (task.place === "parked") unpark(task);
      task.place = "none";
    },

    park(task) {
      if (task.place !== "taken") return task.place === "parked";
      const own = parkedBy.get(task.flow) ?? { records: 0, bytes: 0 };
      const room =
        leavesRoom(own.records, 1, parked.records, mostParked) &&
        leavesRoom(own.bytes, task.bytes, parked.bytes, mostBytes);
      if (!room) return false;
      leave(task);
      task.place = "parked";
      own.records++;
      own.bytes += task.bytes;
      parkedBy.set(task.flow, own);
      parked.records++;
      parked.bytes += task.bytes;
      return true;
    },

    drop(state) {
      queue.dropLane(partitionKey(state));
    },
    inFlight: () => taken.records,
    parked: () => parked.records,
  };
}
