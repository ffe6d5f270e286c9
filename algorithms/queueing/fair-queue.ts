// Fair sharing of slots between flows (tenants) by weight: max-min fair, among equals start-time
// fair queueing. Lanes (partitions) of a flow are FIFO and served in turn. Pure.

interface Waiting<T> {
  item: T;
  cost: number;
}
interface Lane<T> {
  items: Waiting<T>[];
  /** Index of the first one: shifting a long array costs its length. */
  first: number;
}
interface Flow<T> {
  weight: number;
  held: number;
  /** Virtual time at which its next item begins. */
  turn: number;
  waiting: number;
  lanes: Map<string, Lane<T>>;
}

/** weightOf: a positive number; a flow of weight 2 gets twice the share of one of weight 1. */
export function createFairQueue<T>(weightOf: (flow: string) => number = () => 1) {
  const flows = new Map<string, Flow<T>>();
  /** Virtual time: tag of the item taken last, where a returning flow starts. */
  let time = 0;
  let size = 0;

  const forgetIdle = (name: string, flow: Flow<T>): void => {
    if (flow.waiting === 0 && flow.held === 0) flows.delete(name);
  };

  const before = (one: Flow<T>, other: Flow<T>): boolean => {
    const [own, its] = [one.held * other.weight, other.held * one.weight];
    return own < its || (own === its && one.turn < other.turn);
  };

  const movable = (flow: Flow<T>, admits: (item: T) => boolean): string | undefined => {
    for (const [name, { items, first }] of flow.lanes) {
      const head = items[first];
      if (head !== undefined && admits(head.item)) return name;
    }
    return undefined;
  };

  return {
    /** cost: what the item will hold, a positive whole number (so that sums are exact). */
    push(name: string, laneName: string, item: T, cost: number): void {
      let flow = flows.get(name);
      if (flow === undefined) {
        flow = { weight: weightOf(name), held: 0, turn: time, waiting: 0, lanes: new Map() };
        flows.set(name, flow);
      }
      if (flow.waiting === 0) flow.turn = Math.max(flow.turn, time);
      let lane = flow.lanes.get(laneName);
      if (lane === undefined) flow.lanes.set(laneName, (lane = { items: [], first: 0 }));
      lane.items.push({ item, cost });
      flow.waiting++;
      size++;
    },

    /** The next item whose lane may move; its cost is held from now on. Only heads are asked. */
    take(admits: (item: T) => boolean): T | undefined {
      let best: Flow<T> | undefined;
      let bestLane = "";
      for (const flow of flows.values()) {
        if (flow.waiting === 0 || (best !== undefined && !before(flow, best))) continue;
        const lane = movable(flow, admits);
        if (lane !== undefined) [best, bestLane] = [flow, lane];
      }
      const lane = best?.lanes.get(bestLane);
      const taken = lane?.items[lane.first];
      if (best === undefined || lane === undefined || taken === undefined) return undefined;
      lane.first++;
      // Served last from now on; what was taken is let go from time to time.
      best.lanes.delete(bestLane);
      if (lane.first < lane.items.length) best.lanes.set(bestLane, lane);
      if (lane.first > 256 && lane.first > lane.items.length / 2) {
        lane.items = lane.items.slice(lane.first);
        lane.first = 0;
      }
      time = Math.max(time, best.turn);
      best.turn += taken.cost / best.weight;
      best.held += taken.cost;
      best.waiting--;
      size--;
      return taken.item;
    },

    release(name: string, cost: number): void {
      const flow = flows.get(name);
      if (flow === undefined) return;
      flow.held = Math.max(0, flow.held - cost);
      forgetIdle(name, flow);
    },

    /** Forgets what waits in a lane. What was taken from it stays held until it is released. */
    dropLane(laneName: string): void {
      for (const [name, flow] of flows) {
        const lane = flow.lanes.get(laneName);
        if (lane === undefined) continue;
        const gone = lane.items.length - lane.first;
        flow.waiting -= gone;
        size -= gone;
        flow.lanes.delete(laneName);
        forgetIdle(name, flow);
      }
    },

    size: (): number => size,
    held: (name: string): number => flows.get(name)?.held ?? 0,
  };
}

/** Whether a flow leaves as much of a bounded pool free as it would then hold. */
export const leavesRoom = (own: number, more: number, used: number, limit: number): boolean =>
  own + more <= limit - used - more;
