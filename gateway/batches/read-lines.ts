// Reads the lines of a file back from the topic batch-lines, from any line on. Holds one fetch; the
// next begins when it was taken.
import type { Logger } from "pino";
import type { Kafka, RawRecord } from "../../connections/kafka/port.ts";
import type { Codec } from "../../connections/registry/port.ts";
import { decodeWithRetries } from "../../runtime/decode.ts";
import type { Topic } from "../../schemas/records.ts";
import type { BatchFile, BatchLine } from "../../schemas/types.ts";
import { ApiError } from "../errors.ts";

export interface LineAt extends BatchLine {
  offset: number;
}

/** In order, each line once. Rejects with ApiError where lines are gone, and on abort. */
export type ReadLines = (
  file: Pick<BatchFile, "id" | "partition" | "from" | "to">,
  signal: AbortSignal,
) => AsyncGenerator<LineAt>;

export interface ReadLinesDependencies {
  kafka: Pick<Kafka<never, Topic<"batch-lines">, never>, "followTopic">;
  codec: Codec;
  topic: Topic<"batch-lines">;
  log: Logger;
}

interface Fetched {
  records: RawRecord[];
  next: number;
  taken: () => void;
}

export function createReadLines({ kafka, codec, topic, log }: ReadLinesDependencies): ReadLines {
  return async function* readLines({ id, partition, from, to }, signal) {
    if (from >= to) return;
    const ended = new AbortController();
    const signals = AbortSignal.any([signal, ended.signal]);
    const handover = createHandover(signals);
    const follower = kafka.followTopic(topic, {
      onRecords: (records, { next }) => handover.offer(records, next),
      onRewound: () => handover.fail(gone()),
    });
    follower.follow(partition, from);
    let last = 0;
    try {
      for (;;) {
        const { records, next, taken } = await handover.take();
        for (const { offset, key, value } of records) {
          if (offset >= to) return;
          if (value === null || key?.toString() !== id) continue;
          const onWaiting = (cause: Error): void => log.warn({ err: cause }, "the registry is away: lines wait");
          const decoded = await decodeWithRetries(codec, "batch-lines", value, { onWaiting, signal: signals });
          if (!decoded.ok) throw new Error(`${topic}-${partition}, offset ${offset}: ${decoded.reason}`);
          const { line } = decoded.value;
          if (line <= last) continue;
          last = line;
          yield { ...decoded.value, offset };
        }
        taken();
        if (next >= to) return;
      }
    } finally {
      ended.abort();
      // Not awaited: its last fetch is not needed.
      follower.stop().catch((error: unknown) => log.debug({ err: error }, "a reader of lines did not stop"));
    }
  };
}

/** Hands fetches over one at a time. */
function createHandover(signal: AbortSignal) {
  let offered: Fetched | undefined;
  let current: Fetched | undefined;
  let failure: Error | undefined;
  let wake: (() => void) | undefined;
  const changed = (): void => {
    const waiting = wake;
    wake = undefined;
    waiting?.();
  };
  const release = (): void => {
    offered?.taken();
    current?.taken();
    changed();
  };
  signal.addEventListener("abort", release, { once: true });
  return {
    offer: (records: RawRecord[], next: number): Promise<void> =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve();
        offered = { records, next, taken: resolve };
        changed();
      }),
    fail(error: Error): void {
      failure = error;
      changed();
    },
    async take(): Promise<Fetched> {
      for (;;) {
        signal.throwIfAborted();
        if (failure !== undefined) throw failure;
        current = offered;
        offered = undefined;
        if (current !== undefined) return current;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

const gone = (): ApiError =>
  new ApiError({
    status: 410,
    code: "file_gone",
    message: "The lines of this file are past the retention of the topic batch-lines.",
  });
