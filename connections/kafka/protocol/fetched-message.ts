// What is read of an answer to Fetch, and how much may be read.
import type { BatchContext } from "./batch-head.ts";
import type { UnreadableCode } from "./compression/unreadable.ts";

/** In their order; names may repeat. */
export type Headers = readonly (readonly [name: string, value: Buffer | null])[];

/** The offsets of a batch that can't be read, and why. */
export interface UnreadableRange {
  first: number;
  code: UnreadableCode;
  reason: string;
}

/** A message as kafkajs gives it, but for headers. Keys and values are views of the answer. */
export interface FetchedMessage {
  magicByte: number;
  attributes: number;
  timestamp: string;
  offset: string;
  key: Buffer | null;
  value: Buffer | null;
  headers: Headers;
  isControlRecord: boolean;
  batchContext: BatchContext;
  /** Its value is the batch as it was fetched, its offset the last one. */
  unreadable?: UnreadableRange;
}

/** What may still be decompressed and read of an answer. */
export interface Budget {
  bytes: number;
  records: number;
  /** What one batch may hold. */
  readonly batch: number;
}

export interface Batches {
  messages: FetchedMessage[];
  /** The budget did not suffice for all of it. */
  isCut: boolean;
}
