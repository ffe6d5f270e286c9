// What passes through a sink (sink.ts): rows by table, each with the record that it came from until
// it is stored. Thousands wait at a time, for seconds: as text, or every garbage collection would
// walk over all that they hold.
import type { Logger } from "pino";
import type { RawRecord, SinkPartition, SinkSource } from "../connections/kafka/port.ts";
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

/** A row that waits to be stored. */
export interface Entry {
  /** In JSON, on one line. */
  text: string;
  /** As the row says it. */
  createdAt: string;
  source: Source;
}

export const entryOf = (row: Row, source: Source): Entry => ({
  text: JSON.stringify(row),
  createdAt: row.created_at,
  source,
});

/** Made anew each time: for the few who look into rows. */
export const rowOf = ({ text }: Entry): Row => JSON.parse(text) as Row;

export interface TableEntries {
  table: string;
  entries: Entry[];
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
  /**
   * Everything gathered, and starts over. Tables of `before` are to be stored before those of
   * `last`.
   */
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
  /**
   * Resolves when the rows are stored or given up as poison; waits while the store is away. Rejects
   * when the signal aborts.
   */
  insert(tables: readonly TableEntries[], signal: AbortSignal): Promise<void>;
  /**
   * The highest offset that the store has of every partition's origin. anotherTopic: what it has
   * belongs to another one.
   */
  storedOffsets(
    partitions: readonly SinkPartition[],
  ): Promise<readonly { topic: string; partition: number; offset: number | undefined; anotherTopic?: boolean }[]>;
  /** Everything that was taken from the batch last is stored. */
  onStored?: (() => void) | undefined;
  /** A record that can't become a row. Resolves when it is safe elsewhere, or counted. */
  undecodable(source: Source, code: string, reason: string): Promise<void>;
  metrics: Pick<StageMetrics, "received" | "sent" | "dropped" | "observe" | "inFlight" | "lag">;
  log: Logger;
  /** Longest time that a row waits to be sent, milliseconds. */
  batchMs: number;
  /** Time for the last flush on stop, milliseconds. */
  drainMs: number;
}
