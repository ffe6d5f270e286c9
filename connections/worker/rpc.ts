// Typed calls into a worker thread: one interface names the methods, the worker serves them, the
// main thread calls them. A worker that dies rejects every pending call with WorkerDied and stays
// dead: its owner decides whether to connect again (kept.ts does it with a backoff). Nothing is
// queued here; callers bound their calls in flight.
//
//   interface Sums { add(pair: {a: number; b: number}): number }   // methods.ts, for both sides
//   serveCalls<Sums>({ add: ({ a, b }) => a + b });                // the worker's module
//   const entry = new URL("./worker.ts", import.meta.url);         // anywhere else
//   const sums = connectWorker<Sums>({ name: "sums", entry, data: null });
//   await sums.call("add", { a: 1, b: 2 });
import { parentPort, workerData, type Transferable } from "node:worker_threads";
import { messageOf } from "../errors.ts";
import { type PortLike, processPort, startProcess, type WorkerLike } from "./process.ts";
import { startWorker } from "./start.ts";

/** Methods take one argument and give one result, cloned or moved (Moved). */
export type Methods<M> = { [K in keyof M]: (argument: never) => unknown };
export type ArgumentOf<M, K extends keyof M> = M[K] extends (argument: infer A) => unknown ? A : never;
export type ResultOf<M, K extends keyof M> = M[K] extends (argument: never) => infer R ? Awaited<R> : never;

export interface CallContext {
  /** Aborted with the caller's signal; the call stays open until the handler ends. */
  signal: AbortSignal;
  /** Sends something to the caller's onEvent before the result, in order. */
  emit(event: unknown): void;
}
export type Handlers<M> = {
  [K in keyof M]: (
    argument: ArgumentOf<M, K>,
    context: CallContext,
  ) => ResultOf<M, K> | Moved<ResultOf<M, K>> | Promise<ResultOf<M, K> | Moved<ResultOf<M, K>>>;
};

export interface CallOptions {
  /** Aborting tells the handler; the call settles when the handler does. */
  signal?: AbortSignal | undefined;
  onEvent?: (event: unknown) => void;
}

export interface WorkerClient<M> {
  /** Rejects with WorkerCallError (the handler threw) or WorkerDied. */
  call<K extends keyof M & string>(
    method: K,
    argument: ArgumentOf<M, K>,
    options?: CallOptions,
  ): Promise<ResultOf<M, K>>;
  readonly alive: boolean;
  /** Resolves when the worker is gone, with why; "closed" after close(). */
  readonly died: Promise<WorkerDied>;
  pending(): number;
  /** Ends it at once, as a crash with this reason would: for a worker that hangs. */
  kill(reason: string): void;
  /** Ends by itself, or after graceMs (default 5,000). Pending calls reject. */
  close(graceMs?: number): Promise<void>;
}

/** The handler threw; code is its error's code, if it had one. */
export class WorkerCallError extends Error {
  override name = "WorkerCallError";
  constructor(
    message: string,
    readonly code: string | undefined,
  ) {
    super(message);
  }
}
/** The worker is gone: crashed, ran out of memory, failed to load, or was closed. */
export class WorkerDied extends Error {
  override name = "WorkerDied";
}

/** A result whose buffers move to the caller instead of being copied. */
export class Moved<R> {
  constructor(
    readonly value: R,
    readonly transfer: Transferable[],
  ) {}
}

type ToWorker =
  { kind: "call"; id: number; method: string; argument: unknown } | { kind: "cancel"; id: number } | { kind: "close" };
type FromWorker =
  | { kind: "result"; id: number; value: unknown }
  | { kind: "error"; id: number; message: string; code: string | undefined }
  | { kind: "event"; id: number; event: unknown };

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
  onEvent: ((event: unknown) => void) | undefined;
}

/** Starts a worker on `entry`, which calls serveCalls. Calls may be made at once. */
export function connectWorker<M extends Methods<M>>(what: {
  name: string;
  entry: URL;
  data: unknown;
  /** "process" for native code that may crash: data must be JSON then. Default "thread". */
  isolation?: "thread" | "process";
}): WorkerClient<M> {
  const worker: WorkerLike =
    what.isolation === "process"
      ? startProcess(what.entry, what.data)
      : startWorker(what.entry, what.data, { name: what.name });
  const pending = new Map<number, Pending>();
  let nextId = 0;
  let death: WorkerDied | null = null;
  let resolveDied: (reason: WorkerDied) => void = () => undefined;
  const died = new Promise<WorkerDied>((resolve) => (resolveDied = resolve));
  let closing: Promise<void> | null = null;

  const die = (why: string): void => {
    if (death !== null) return;
    death = new WorkerDied(`worker "${what.name}" is gone: ${why}`);
    for (const call of pending.values()) call.reject(death);
    pending.clear();
    resolveDied(death);
  };
  const post = (message: ToWorker): void => worker.postMessage(message);

  worker.on("message", (message: FromWorker) => {
    const call = pending.get(message.id);
    if (call === undefined) return;
    if (message.kind === "event") return call.onEvent?.(message.event);
    pending.delete(message.id);
    if (message.kind === "result") call.resolve(message.value);
    else call.reject(new WorkerCallError(message.message, message.code));
  });
  worker.on("error", (error) => die(messageOf(error)));
  worker.on("messageerror", (error: Error) => die(`a message could not be read: ${error.message}`));
  worker.on("exit", (code) => die(closing === null ? `it ended with code ${code}` : "closed"));

  return {
    call: (method, argument, options = {}) =>
      new Promise((resolve, reject) => {
        if (death !== null) return reject(death);
        if (closing !== null) return reject(new WorkerDied(`worker "${what.name}" is closing`));
        const id = nextId++;
        const cancel = (): void => post({ kind: "cancel", id });
        const done = (): void => options.signal?.removeEventListener("abort", cancel);
        // Posting first: an argument that can't be cloned throws here and leaves nothing pending.
        post({ kind: "call", id, method, argument });
        pending.set(id, {
          // The worker serves the same interface M, so the value is what M says.
          resolve: (value) => (done(), resolve(value as ResultOf<M, typeof method>)),
          reject: (error) => (done(), reject(error)),
          onEvent: options.onEvent,
        });
        if (options.signal?.aborted === true) cancel();
        else options.signal?.addEventListener("abort", cancel, { once: true });
      }),
    get alive() {
      return death === null && closing === null;
    },
    died,
    pending: () => pending.size,
    kill: (reason) => {
      die(reason);
      void worker.terminate();
    },
    close: (graceMs = 5_000) =>
      (closing ??= (async () => {
        if (death !== null) return;
        for (const call of pending.values()) call.reject(new WorkerDied(`worker "${what.name}" was closed`));
        pending.clear();
        post({ kind: "close" });
        const timer = setTimeout(() => void worker.terminate(), graceMs);
        await died;
        clearTimeout(timer);
      })()),
  };
}

/** Called once, by the worker's module. onClose runs before the worker ends. */
export function serveCalls<M extends Methods<M>>(handlers: Handlers<M>, onClose?: () => void | Promise<void>): void {
  const port: PortLike | null = parentPort ?? processPort();
  if (port === null) throw new Error("serveCalls must run in a worker");
  const running = new Map<number, AbortController>();

  const run = async (id: number, method: string, argument: unknown): Promise<void> => {
    const controller = new AbortController();
    running.set(id, controller);
    const emit = (event: unknown): void => port.postMessage({ kind: "event", id, event } satisfies FromWorker);
    try {
      if (!Object.hasOwn(handlers, method)) throw new Error(`this worker has no method "${method}"`);
      // The caller is typed by the same M; across the thread only unknown remains.
      const handler = handlers[method as keyof M] as (argument: unknown, context: CallContext) => unknown;
      const result = await handler(argument, { signal: controller.signal, emit });
      const moved = result instanceof Moved ? result : new Moved(result, []);
      port.postMessage({ kind: "result", id, value: moved.value } satisfies FromWorker, moved.transfer);
    } catch (error) {
      const message = messageOf(error);
      const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
      port.postMessage({ kind: "error", id, message, code } satisfies FromWorker);
    } finally {
      running.delete(id);
    }
  };
  port.on("message", (message: ToWorker) => {
    if (message.kind === "call") void run(message.id, message.method, message.argument);
    else if (message.kind === "cancel") running.get(message.id)?.abort();
    else {
      for (const controller of running.values()) controller.abort();
      void Promise.resolve(onClose?.()).finally(() => port.close());
    }
  });
}

export function workerInput<Data>(): Data {
  const given = (parentPort === null ? JSON.parse(process.argv[2] ?? "null") : workerData) as { data: Data };
  return given.data;
}
