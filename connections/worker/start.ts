// Starts a worker thread on a TypeScript module; works the same in a compiled program, under
// node --import tsx and under vitest.
import { Worker, type WorkerOptions } from "node:worker_threads";

/** entry: URL of the module; data arrives as workerData.data. */
export function startWorker(entry: URL, data: unknown, options: WorkerOptions = {}): Worker {
  return new Worker(new URL("./boot.mjs", import.meta.url), {
    ...options,
    workerData: { entry: entry.href, data },
  });
}
