// How much of the log is read at a time. What is sent is measured by mostMessageBytes.
import { mostMessageBytes } from "./record-port.ts";

/**
 * What a batch may hold once it is decompressed: twice what a topic would take as it is. No bound
 * of Kafka's holds for that, and a thousand to one is easily reached.
 */
export const mostBatchBytes = 2 * mostMessageBytes;

/** What is decompressed of one answer, and how many records of it are read; the rest comes next. */
export const mostOfAnswer = { bytes: mostBatchBytes, records: 65_536 };
/** Blocks of a compressed batch: snappy-java's hold 1 KiB at least, and each costs a call. */
export const mostBlocks = 65_536;
