// Supervises a worker: a dead one is replaced after a pause that doubles without success. Meanwhile
// calls are rejected at once, so that callers degrade.
import type { Logger } from "pino";
import { errorOf } from "../errors.ts";
import { backoff, type Waits } from "../../algorithms/queueing/backoff.ts";
import { connectWorker, WorkerDied, type Methods, type WorkerClient } from "./rpc.ts";

export interface SupervisedWorker<M> {
  /** As WorkerClient.call; rejects with WorkerDied at once while no worker is ready. */
  call: WorkerClient<M>["call"];
  readonly ready: boolean;
  /** How many starts in a row failed; 0 once one succeeds. */
  readonly failedStarts: number;
  /** Ends the worker; another is started as after a crash. */
  kill(reason: string): void;
  close(): Promise<void>;
}

export interface SupervisedOptions<M> {
  name: string;
  entry: URL;
  data: unknown;
  isolation?: "thread" | "process";
  log: Logger;
  /** Called for every new worker before it counts as ready; a rejection ends the worker. */
  prepare: (client: WorkerClient<M>) => Promise<void>;
  onReady?: () => void;
  /** Milliseconds; the pause doubles from first to last. Default 100 and 10,000. */
  pause?: Waits;
}

/** Rejects when the first worker can't be prepared: a wrong set-up. */
export async function superviseWorker<M extends Methods<M>>(
  options: SupervisedOptions<M>,
): Promise<SupervisedWorker<M>> {
  const { name, log, pause = { first: 100, limit: 10_000 } } = options;
  let client: WorkerClient<M> | null = null;
  const waits = backoff(pause);
  let closed = false;
  let failedStarts = 0;
  let timer: NodeJS.Timeout | undefined;

  const start = async (): Promise<void> => {
    const next = connectWorker<M>(options);
    try {
      await options.prepare(next);
    } catch (error) {
      await next.close();
      throw error;
    }
    if (closed) return next.close();
    client = next;
    failedStarts = 0;
    void next.died.then((reason) => {
      client = null;
      if (!closed) later(reason);
    });
  };
  const later = (reason: Error): void => {
    const wait = waits.next();
    log.error({ worker: name, reason: reason.message, restartInMs: wait }, "worker lost");
    timer = setTimeout(() => {
      start().then(
        () => {
          if (closed) return;
          log.info({ worker: name }, "worker restarted");
          options.onReady?.();
        },
        (error: unknown) => {
          failedStarts += 1;
          if (!closed) later(errorOf(error));
        },
      );
    }, wait);
  };
  await start();

  return {
    async call(method, argument, callOptions) {
      if (client === null) throw new WorkerDied(`worker "${name}" is being restarted`);
      const result = await client.call(method, argument, callOptions);
      waits.reset();
      return result;
    },
    get ready() {
      return client?.alive ?? false;
    },
    get failedStarts() {
      return failedStarts;
    },
    kill: (reason) => client?.kill(reason),
    async close() {
      closed = true;
      clearTimeout(timer);
      await client?.close();
    },
  };
}
