// A client that takes nothing of its answer for slowReaderMs is disconnected: it would keep the
// answer in memory for good. Node's socket timer sees what the kernel takes, also of one write. A
// stream has a stricter rule besides (stream.ts).
import type { ServerResponse } from "node:http";

/** Parts of slowReaderMs: one passes, not all, while this process itself stands still. */
export const slices = 8;

export function disconnectWhenStuck(response: ServerResponse, slowReaderMs: number): void {
  const sliceMs = slowReaderMs / slices;
  let passed = 0;
  let last = 0;
  response.setTimeout(sliceMs, () => {
    const now = performance.now();
    // Later than the next slice: something was taken meanwhile, or this process stood still.
    if (now - last > 1.5 * sliceMs) passed = 0;
    last = now;
    // Nothing waits for the reader while the answer is computed, or read from a topic.
    passed = response.writableNeedDrain || response.writableEnded ? passed + 1 : 0;
    if (passed === slices) response.destroy();
    else response.setTimeout(sliceMs);
  });
  // Before Node's own listener, which sets the time that a connection may be idle.
  response.prependOnceListener("finish", () => response.setTimeout(0));
}
