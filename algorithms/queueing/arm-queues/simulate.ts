// Requests through the queues of arms, on paper. An arm has workers; a request is one worker's, by
// chance, as partitions are; a worker has places, and calls begin in the order of arrival when one
// is free. Every event is the beginning or the end of a call. n log(places) for n requests.

export interface ArmPlaces {
  workers: number;
  /** Calls that one worker has under way at most. */
  places: number;
}

/** Requests by arrival; all arrays have the same length. Milliseconds. */
export interface Workload {
  /** Ascending. */
  arrival: Float64Array;
  /** Place of its arm in the list of arms. */
  arm: Int32Array;
  /** From arrival until it is planned. */
  plan: Float64Array;
  /** From then until the worker has it: topic and transactions, no waiting for a place. */
  hop: Float64Array;
  /** From the beginning of the call to its first token and to its end. */
  first: Float64Array;
  service: Float64Array;
  /** In [0, 1): which worker. */
  pick: Float64Array;
}

export interface Outcome {
  /** Hop and waiting for a place. */
  queueMs: Float64Array;
  /** From arrival. */
  firstTokenMs: Float64Array;
  totalMs: Float64Array;
  /** Share of each arm's slots in use between the first arrival and the last. */
  utilisation: number[];
}

/** Throws RangeError for an arm without a place. */
export function simulateArms(workload: Workload, arms: readonly ArmPlaces[]): Outcome {
  const { arrival, arm, plan, hop, first, service, pick } = workload;
  const requests = arrival.length;
  for (const [i, { workers, places }] of arms.entries())
    if (!(workers >= 1 && places >= 1)) throw new RangeError(`arm ${i} has ${workers} workers of ${places} places`);
  const workersOf = arms.map(({ workers, places }) => Array.from({ length: workers }, () => placesOf(places)));
  const busyMs = arms.map(() => 0);
  const until = requests === 0 ? 0 : arrival[requests - 1]!;
  const out = {
    queueMs: new Float64Array(requests),
    firstTokenMs: new Float64Array(requests),
    totalMs: new Float64Array(requests),
  };
  for (let i = 0; i < requests; i++) {
    const of = workersOf[arm[i]!]!;
    const worker = of[Math.min(of.length - 1, Math.floor(pick[i]! * of.length))]!;
    const ready = arrival[i]! + plan[i]! + hop[i]!;
    const began = worker.take(ready, service[i]!);
    out.queueMs[i] = began - arrival[i]! - plan[i]!;
    out.firstTokenMs[i] = began + first[i]! - arrival[i]!;
    out.totalMs[i] = began + service[i]! - arrival[i]!;
    busyMs[arm[i]!] = busyMs[arm[i]!]! + Math.max(0, Math.min(until, began + service[i]!) - Math.min(until, began));
  }
  const span = requests === 0 ? 0 : until - arrival[0]!;
  const utilisation = arms.map(({ workers, places }, i) => (span > 0 ? busyMs[i]! / (span * workers * places) : 0));
  return { ...out, utilisation };
}

/** When each place of a worker is free again: a heap, the first one on top. */
function placesOf(count: number): { take(ready: number, service: number): number } {
  // Places that were never taken are free from the beginning: the heap grows to what is used.
  const free: number[] = [];
  const sink = (): void => {
    for (let i = 0; ;) {
      const left = 2 * i + 1;
      const right = left + 1;
      let least = i;
      if (left < free.length && free[left]! < free[least]!) least = left;
      if (right < free.length && free[right]! < free[least]!) least = right;
      if (least === i) return;
      [free[i], free[least]] = [free[least]!, free[i]!];
      i = least;
    }
  };
  const rise = (): void => {
    for (let i = free.length - 1; i > 0;) {
      const parent = (i - 1) >> 1;
      if (free[parent]! <= free[i]!) return;
      [free[i], free[parent]] = [free[parent]!, free[i]!];
      i = parent;
    }
  };
  return {
    take(ready, service) {
      if (free.length < count && (free.length === 0 || free[0]! > ready)) {
        free.push(ready + service);
        rise();
        return ready;
      }
      const began = Math.max(ready, free[0]!);
      free[0] = began + service;
      sink();
      return began;
    },
  };
}
