// A kafkajs consumer polls its broker every `maxWaitTimeInMs`, whether records come or not: a
// process with fourteen consumers at 100 ms sends 140 requests a second while idle. The broker
// answers at the first record however long it may wait, so a quiet consumer waits longer here. The
// wait grows gradually and is bounded: a fetch under way does not include partitions that are
// resumed meanwhile. A consumer that stops does not wait for its fetch: nothing of it would be
// delivered, and its positions stay where they are.
//
// A consumer that gathers (minBytes above 1) waits between its fetches rather than in the broker:
// while a fetch waits there for bytes, every append to any of its partitions sums up all of them.
import { setTimeout as sleep } from "node:timers/promises";
import { internals, type ConsumerGroupLike, type RequestQueueLike, type RunnerLike } from "./kafkajs-internals.ts";

/** So many fetches in turn without a record, a pause or a resume make a consumer quiet. */
const quietAfter = 10;
/** What the broker may wait for then. */
export const quietWaitMs = 500;

interface FetchState {
  /** As configured. */
  waitMs: number;
  empty: number;
  /** Bytes that are worth a fetch of their own; undefined: the first record is. */
  gatherBytes: number | undefined;
  /** By node: before that (performance.now()) there is no further fetch of one that gathers. */
  next: Map<string, number>;
  /** Aborted when its runner stops. */
  stopping: AbortController;
}

interface FetchedBatch {
  /** With control records and aborted ones. */
  rawMessages: { value?: Buffer | null }[];
}

const fetchStates = new WeakMap<ConsumerGroupLike, FetchState>();

function fetchStateOf(group: ConsumerGroupLike): FetchState {
  let known = fetchStates.get(group);
  if (known === undefined) {
    const gatherBytes = group.minBytes > 1 ? group.minBytes : undefined;
    known = { waitMs: group.maxWaitTime, empty: 0, gatherBytes, next: new Map(), stopping: new AbortController() };
    fetchStates.set(group, known);
    group.minBytes = 1;
  }
  return known;
}

const bytesOf = (batches: readonly FetchedBatch[]): number =>
  batches.reduce((sum, { rawMessages }) => rawMessages.reduce((s, { value }) => s + (value?.length ?? 0), sum), 0);

/** Undefined as soon as the signal is aborted. */
function unlessStopped<T>(signal: AbortSignal, promise: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const stopped = (): void => resolve(undefined);
    signal.addEventListener("abort", stopped, { once: true });
    void promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stopped));
  });
}

/** Wraps ConsumerGroup.fetch. */
const withAdaptiveWait = (fetch: ConsumerGroupLike["fetch"]): ConsumerGroupLike["fetch"] =>
  async function fetchAdaptively(this: ConsumerGroupLike, nodeId) {
    const state = fetchStateOf(this);
    const { gatherBytes, next, stopping } = state;
    const pause = (next.get(nodeId) ?? 0) - performance.now();
    if (pause > 0) await unlessStopped(stopping.signal, sleep(pause));
    if (stopping.signal.aborted) return [];
    this.maxWaitTime = state.empty < quietAfter ? state.waitMs : Math.max(state.waitMs, quietWaitMs);
    const found = await unlessStopped(stopping.signal, fetch.call(this, nodeId));
    if (found === undefined) return [];
    const batches = found as FetchedBatch[];
    state.empty = batches.some(({ rawMessages }) => rawMessages.length > 0) ? 0 : state.empty + 1;
    // Behind as many bytes there are probably more; where there was nothing the broker has waited.
    if (gatherBytes !== undefined && state.empty === 0 && bytesOf(batches) < gatherBytes)
      next.set(nodeId, performance.now() + state.waitMs);
    return batches;
  };

/** Wraps ConsumerGroup.pause and resume. */
const lively = <Arguments extends unknown[]>(act: (...given: Arguments) => void) =>
  function actAndLook(this: ConsumerGroupLike, ...given: Arguments): void {
    fetchStateOf(this).empty = 0;
    act.apply(this, given);
  };

/** Wraps Runner.stop. */
const endingFetch = (stop: RunnerLike["stop"]): RunnerLike["stop"] =>
  function stopAtOnce(this: RunnerLike) {
    const stopped = stop.call(this);
    fetchStateOf(this.consumerGroup).stopping.abort();
    return stopped;
  };

const fetchKey = 1;

/** Wraps RequestQueue.waitForPendingRequests: who disconnects waits for no fetch. */
const withoutFetch = (wait: RequestQueueLike["waitForPendingRequests"]): RequestQueueLike["waitForPendingRequests"] =>
  function waitForOthers(this: RequestQueueLike) {
    const isIdle =
      this.pending.length === 0 && [...this.inflight.values()].every(({ entry }) => entry.apiKey === fetchKey);
    return isIdle ? Promise.resolve() : wait.call(this);
  };

export function patchFetchWait(): void {
  const { prototype } = internals.ConsumerGroup;
  prototype.fetch = withAdaptiveWait(prototype.fetch);
  prototype.pause = lively(prototype.pause);
  prototype.resume = lively(prototype.resume);
  const { prototype: runner } = internals.Runner;
  runner.stop = endingFetch(runner.stop);
  const { prototype: queue } = internals.RequestQueue;
  queue.waitForPendingRequests = withoutFetch(queue.waitForPendingRequests);
}
