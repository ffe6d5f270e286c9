// What passes through a sink (sink.ts): rows by table, with the records they came from.
import type { Logger } from "pino";
import type { RawRecord, SinkPartition, SinkSource } from "../connections/kafka/port.ts";
import type { StageMetrics } from "./metrics/port.ts";

export interface Row {
  created_at: string;
  [column: string]: unknown;
}

/** Rows by table; the topic's own table comes last: positions are read from it. */
export interface TableRows {
  table: string;
  rows: Row[];
}
export type DecodedRows =
  { ok: true; tables: TableRows[] } | { ok: false; code: string; reason: string; tenant?: string | undefined };

/** Where rows come from, kept until they are stored. Topics carry their prefix. */
export interface Source {
  topic: string;
  partition: number;
  record: RawRecord;
  /** Its tenant; absent: not known. */
  tenant?: string | undefined;
}

/** Rows of one table that wait to be stored, as text (lines.ts). */
export interface Lines {
  readonly length: number;
  /** Rows before which another month begins than that of the row before; the first one is 0. */
  readonly months: readonly number[];
  /** In JSON, each on a line; the pieces in their order make the text of rows from..to - 1. */
  bytesOf(from: number, to: number): Buffer[];
  source(index: number): Source;
  row(index: number): Row;
}

export interface TableLines {
  table: string;
  lines: Lines;
}

export interface Taken {
  /** To be stored before those of `last`. */
  before: TableLines[];
  last: TableLines[];
  positions: { topic: string; partition: number; offset: number }[];
  /** All of it is stored: its memory may be used again. */
  done(): void;
}

/** Gathers rows until they are worth an insert. */
export interface Batch {
  add(source: Source, tables: readonly TableRows[]): void;
  /** Counted so that its position can be committed; has no rows. */
  skip(source: Source): void;
  isFull(): boolean;
  isEmpty(): boolean;
  rows(): number;
  take(): Taken;
}

export interface SinkDependencies {
  source: SinkSource;
  decode(source: Source, signal: AbortSignal): Promise<DecodedRows>;
  batch: Batch;
  /** Resolves when stored or given up as poison. Rejects when aborted. */
  insert(tables: readonly TableLines[], signal: AbortSignal): Promise<void>;
  /** Highest stored offset of every partition's origin. anotherTopic: of another. */
  storedOffsets(
    partitions: readonly SinkPartition[],
  ): Promise<readonly { topic: string; partition: number; offset: number | undefined; anotherTopic?: boolean }[]>;
  /** Everything that was taken from the batch last is stored. */
  onStored?: (() => void) | undefined;
  /** A record that can't become a row. Resolves when it is safe elsewhere, or counted. */
  undecodable(source: Source, code: string, reason: string): Promise<void>;
  metrics: Pick<StageMetrics, "received" | "sent" | "dropped" | "observe" | "inFlight">;
  /** The offset behind a partition's last record, after every batch. */
  onHighWatermark?: (topic: string, partition: number, offset: number) => void;
  log: Logger;
  batchMs: number;
  /** Time for the last flush on stop, milliseconds. */
  drainMs: number;
}
