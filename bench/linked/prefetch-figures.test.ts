import { expect, it } from "vitest";
import type { PrefetchAsked, Streamed } from "./prefetch.ts";
import { prefetchRows } from "./prefetch-figures.ts";

const asked = (request: number, pair: number, prefetch: boolean, ttftMs: number, inMemory: number): PrefetchAsked => ({
  ...{ request, pair, files: "device", prefetch, ttftMs, ttftCpuMs: 90, loadingMs: prefetch ? 1 : 20 },
  ...{ linked: 10, recomputed: 2, prefilled: 3, inMemory, read: 10 },
});

it("compares each request with itself in the same pair of rounds", () => {
  const streamed: Streamed = {
    // The second pair met a busier machine: its requests took ten times as long, with and without.
    asked: [
      ...[asked(0, 0, false, 100, 2), asked(1, 0, false, 120, 4), asked(0, 1, false, 1_000, 2)],
      ...[asked(1, 0, true, 110, 10), asked(0, 0, true, 90, 8), asked(0, 1, true, 990, 9)],
    ],
    rounds: [
      { files: "device", prefetch: false, cpuMs: 200, wallMs: 300 },
      { files: "device", prefetch: true, cpuMs: 210, wallMs: 280 },
    ],
    ...{ cachesMib: 100, chunks: 50 },
  };
  const [without, prefetched, ...more] = prefetchRows({ workload: "some", policy: "naive" }, streamed);
  expect(more).toEqual([]);
  expect(without).toMatchObject({ prefetch: false, n: 3, in_memory: 0.2667, loading_ms: 20, cpu_ms: 200 });
  expect(without?.ttft_difference).toBeNull();
  expect(prefetched).toMatchObject({ prefetch: true, n: 3, in_memory: 0.9, loading_ms: 1, ttft_ms: 110, wall_ms: 280 });
  expect(prefetched).toMatchObject({ ttft_difference: -10, ttft_low: -10, ttft_high: -10 });
});
