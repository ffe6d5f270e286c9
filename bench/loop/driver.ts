// A closed loop from outside: so many requests in flight, each produced on its own as a client
// would, the next one when its response is read. It looks at nothing but keys while it measures:
// the same little work for the real loop and for the floor.
import { setTimeout as sleep } from "node:timers/promises";
import type { Kafka } from "../../connections/kafka/port.ts";

export interface LoadResult {
  /** Milliseconds from before the produce call to the response, in order of completion. */
  latencies: number[];
  /** First produce call to last response. */
  seconds: number;
  /** Values of the responses, to be looked at afterwards. */
  values: Buffer[];
}

export interface Load {
  inFlight: number;
  /** No new request is sent after this many seconds. */
  seconds: number;
  /** Stops when everything was answered, after at most this many requests. */
  requests?: number;
  /** In place of the driver's own; undefined: there are no more. */
  next?: Next;
}

/** The next request; its key comes back as the response's key. */
export type Next = () => { key: string; value: Buffer } | undefined;

export interface Driver {
  run(load: Load): Promise<LoadResult>;
  close(): Promise<void>;
}

export interface DriverOptions {
  kafka: Kafka;
  requests: string;
  responses: string;
  next: Next;
  signal: AbortSignal;
}

const answerWithinMs = 30_000;

export async function createDriver({ kafka, requests, responses, next: own, signal }: DriverOptions): Promise<Driver> {
  const waiting = new Map<string, (value: Buffer) => void>();
  const producer = kafka.plainProducer();
  const tail = await kafka.tailTopic(responses, ({ key, value }) => {
    const id = key?.toString() ?? "";
    const resolve = waiting.get(id);
    if (resolve === undefined || value === null) return;
    waiting.delete(id);
    resolve(value);
  });

  return {
    async run({ inFlight, seconds, requests: most = Infinity, next = own }) {
      const result: LoadResult = { latencies: [], seconds: 0, values: [] };
      const began = performance.now();
      const end = began + seconds * 1000;
      let sent = 0;
      const lane = async (): Promise<void> => {
        while (sent < most && performance.now() < end) {
          signal.throwIfAborted();
          const request = next();
          if (request === undefined) return;
          sent++;
          const { key, value } = request;
          const asked = performance.now();
          const answered = new Promise<Buffer>((resolve) => waiting.set(key, resolve));
          await producer.send([{ topic: requests, key, value }]);
          result.values.push(await answered);
          result.latencies.push(performance.now() - asked);
        }
      };
      const done = new AbortController();
      const stalled = (async () => {
        for (let before = -1; ; before = result.latencies.length) {
          await sleep(answerWithinMs, undefined, { signal: AbortSignal.any([done.signal, signal]) });
          if (result.latencies.length === before)
            throw new Error(`${waiting.size} requests on ${requests} had no response for ${answerWithinMs / 1000} s`);
        }
      })();
      try {
        await Promise.race([Promise.all(Array.from({ length: inFlight }, lane)), stalled]);
      } finally {
        done.abort();
        stalled.catch(() => undefined);
      }
      result.seconds = (performance.now() - began) / 1000;
      return result;
    },
    async close() {
      await Promise.all([tail.stop(), producer.close()]);
    },
  };
}
