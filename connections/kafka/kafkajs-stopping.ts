// If a kafkajs 2.2.4 consumer is stopped while it recreates its fetchers (a broker has gone, or
// come), it stops the old fetchers and the new ones run on. A stopped runner answers them at once
// with nothing, so they poll in a loop that starves timers and sockets: the whole process hangs at
// full load. Here a stopped runner ends any fetcher that still polls it.
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

export function patchStopping(): void {
  const { prototype } = internals.Runner;
  prototype.fetch = endingFetchers(prototype.fetch);
}
