// How long garbage collection held this thread: what a figure of latency has in its tail when too
// much is allocated.
import { PerformanceObserver } from "node:perf_hooks";
import { setImmediate as turn } from "node:timers/promises";

/**
 * Milliseconds of each collection from now on, given by the function that ends the watching. Only
 * one of the thread that calls.
 */
export function watchCollections(): () => Promise<number[]> {
  const pauses: number[] = [];
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) pauses.push(duration);
  });
  observer.observe({ entryTypes: ["gc"] });
  return async () => {
    // Node tells of a collection in a later turn of the event loop.
    for (let turns = 0; turns < 3; turns++) await turn();
    observer.disconnect();
    return pauses;
  };
}
