// A worker in a process of its own with a worker thread's face: native code may crash (seen with
// llama.cpp). Buffers are copied.
import { fork } from "node:child_process";
import type { Transferable, Worker } from "node:worker_threads";

// Node's own loose type of a listener: what arrives is typed where it is read, in rpc.ts.
type Listener = Parameters<Worker["on"]>[1];

export type WorkerLike = ReturnType<typeof startProcess>;
export interface PortLike {
  postMessage(message: unknown, transfer?: Transferable[]): void;
  on(event: string, listener: Listener): unknown;
  close(): void;
}

/** entry: URL of the module; data must be JSON, for it travels on the command line. */
export function startProcess(entry: URL, data: unknown) {
  const boot = new URL("./boot-process.mjs", import.meta.url);
  const child = fork(boot, [JSON.stringify({ entry: entry.href, data })], {
    serialization: "advanced",
    execArgv: [],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  return {
    on: (event: string, listener: Listener): unknown => child.on(event, listener),
    postMessage: (message: unknown): void => {
      // The exit event of a dead child rejects pending calls.
      if (child.connected) child.send(message as object, () => undefined);
    },
    terminate: (): Promise<number> => {
      child.kill("SIGKILL");
      return Promise.resolve(0);
    },
  };
}

/** In the child: the way to the parent; null in a process that startProcess did not start. */
export function processPort(): PortLike | null {
  if (process.send === undefined) return null;
  return {
    postMessage: (message) => {
      if (process.connected) process.send?.(message);
    },
    on: (event, listener) => process.on(event, listener),
    close: () => process.disconnect(),
  };
}
