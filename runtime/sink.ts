// Runs a stage that writes rows to a store and keeps its positions there: effectively once, without Kafka transactions.
// On every assignment it goes on after the highest offset that the store has; records become rows, rows are gathered and inserted, one flush
// at a time and in order, so that what the store has of a partition is always whole up to its highest offset. Rows that arrive
// twice are the store's matter (identity). While the store is away a flush waits, then a batch fills, then onRecords does not resolve:
// memory stays bounded and nothing is skipped. Knows no operator: decode, batch and insert are passed in.
import type { Logger } from "pino";
import type { RawRecord } from "../connections/kafka/port.ts";
import type { SinkSource } from "../connections/kafka/sink-source.ts";
import { createFlusher } from "./flusher.ts";
import type { StageMetrics } from "./metrics.ts";

/** A row knows its own time, by which its table is partitioned. */
export interface Row {
  created_at: string;
  [column: string]: unknown;
}

/** Rows by table; the topic's own table comes last: positions are read from it. */
export interface TableRows {
  table: string;
  rows: Row[];
}
export type DecodedRows = { ok: true; tables: TableRows[] } | { ok: false; code: string; reason: string };

/** Where rows come from, kept until they are stored. Topics carry their prefix. */
export interface Source {
  topic: string;
  partition: number;
  record: RawRecord;
}

export interface TableEntries {
  table: string;
  entries: { row: Row; source: Source }[];
}

/** Gathers rows until they are worth an insert. */
export interface Batch {
  add(source: Source, tables: readonly TableRows[]): void;
  /** Counted so that its position can be committed; has no rows. */
  skip(source: Source): void;
  isFull(): boolean;
  isEmpty(): boolean;
  /** Rows held. */
  rows(): number;
  /** Everything gathered, and starts over. Tables of `before` are to be stored before those of `last`. */
  take(): {
    before: TableEntries[];
    last: TableEntries[];
    positions: { topic: string; partition: number; offset: number }[];
  };
}

export interface SinkDependencies {
  source: SinkSource;
  decode(source: Source, signal: AbortSignal): Promise<DecodedRows>;
  batch: Batch;
  /** Resolves when the rows are stored or given up as poison; waits while the store is away. Rejects when the signal aborts. */
  insert(tables: readonly TableEntries[], signal: AbortSignal): Promise<void>;
  /** The highest offset that the store has, by partition. */
  storedOffsets(
    partitions: readonly { topic: string; partition: number }[],
  ): Promise<readonly { topic: string; partition: number; offset: number | undefined }[]>;
  /** A record that can't become a row. Resolves when it is safe elsewhere, or counted. */
  undecodable(source: Source, code: string, reason: string): Promise<void>;
  metrics: Pick<StageMetrics, "received" | "sent" | "dropped" | "observe" | "inFlight" | "lag">;
  log: Logger;
  /** Longest time that a row waits to be sent, milliseconds. */
  batchMs: number;
  /** Time for the last flush on stop, milliseconds. */
  drainMs: number;
}

export interface Sink {
  /** Resolves when the group was joined. */
  run(): Promise<void>;
  /** Leaves the group, then stores what was gathered if it can be done in time; the rest is read again by whoever comes. */
  stop(): Promise<void>;
}

/** How often a wait for room looks whether its partition is still ours, milliseconds. */
const stalePollMs = 200;

export function createSink(dependencies: SinkDependencies): Sink {
  const { source, batch, metrics } = dependencies;
  const stopping = new AbortController();
  const flusher = createFlusher(dependencies, stopping.signal);

  async function onRecords(
    topic: string,
    partition: number,
    records: readonly RawRecord[],
    isStale: () => boolean,
  ): Promise<void> {
    const gone = (): boolean => isStale() || stopping.signal.aborted;
    for (const record of records) {
      const from = { topic, partition, record };
      const decoded = await dependencies.decode(from, stopping.signal);
      if (!decoded.ok) await dependencies.undecodable(from, decoded.code, decoded.reason);
      while (batch.isFull() && !gone()) await flusher.room(stalePollMs);
      // Never before the wait: the rows of a partition that was lost meanwhile would stand behind a gap.
      if (gone()) return;
      metrics.received(1);
      if (decoded.ok) batch.add(from, decoded.tables);
      else {
        metrics.dropped(decoded.code);
        batch.skip(from);
      }
    }
    metrics.inFlight(batch.rows());
    flusher.schedule();
  }

  return {
    run: () =>
      source.run({
        async onAssigned(partitions) {
          // What is gathered goes first, or it would be read again; whoever had a lost partition sees our rows, not a gap.
          await flusher.drain();
          const stored = await dependencies.storedOffsets(partitions);
          return stored.map(({ topic, partition, offset }) => ({
            topic,
            partition,
            offset: offset === undefined ? undefined : offset + 1,
          }));
        },
        onRecords,
        onLag: (topic, partition, records) => metrics.lag(topic, partition, records),
      }),
    async stop() {
      const limit = setTimeout(() => stopping.abort(), dependencies.drainMs);
      try {
        await source.stop();
        await flusher.drain();
      } catch (error) {
        if (!stopping.signal.aborted) throw error;
      } finally {
        clearTimeout(limit);
        stopping.abort();
        flusher.close();
      }
    },
  };
}
