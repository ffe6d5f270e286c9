// A consumer of kafkajs 2.2.4 that is stopped while it makes its fetchers anew (a broker has gone,
// or come) stops the old ones; the new ones run on. A runner that was stopped answers them at once
// with nothing, so they ask again and again without ever leaving room for a timer or a socket: the
// whole process stands still at full load, for good. Here a runner that was stopped ends whoever
// still asks it for records.
import { setImmediate as nextTurn } from "node:timers/promises";
import { internals, type RunnerLike } from "./kafkajs-internals.ts";

type Fetch = (this: RunnerLike, nodeId: string) => Promise<unknown[]>;

/** Wraps Runner.fetch. */
const endingFetchers = (fetch: Fetch): Fetch =>
  async function fetchOrEnd(nodeId) {
    if (this.running) return fetch.call(this, nodeId);
    // Waits for the fetcher that asks, among others: it must get its answer first.
    void this.fetchManager.stop();
    await nextTurn();
    return [];
  };

/** Idempotent within a process because the module is loaded once. */
export function patchStopping(): void {
  const { prototype } = internals.Runner;
  prototype.fetch = endingFetchers(prototype.fetch);
}
