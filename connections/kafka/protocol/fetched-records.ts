// Record batches of an answer to Fetch, read in one pass over their bytes. kafkajs makes a decoder
// and a buffer for every record, and a big integer for each of its numbers. A batch that can't be
// read is one message, at its last offset, that says so: what follows it is read. Offsets without a
// record (compaction removes them) are passed by a message that kafkajs drops.
import {
  checkHead,
  headBytes,
  int64,
  lastOfDamaged,
  lengthOf,
  prefixBytes,
  readHead,
  type BatchContext,
  type BatchHead,
} from "./batch-head.ts";
import { decompress } from "./compression/decompress.ts";
import { Unreadable, unreadableOf } from "./compression/unreadable.ts";
import type { Batches, Budget, FetchedMessage, Headers } from "./fetched-message.ts";
import { readRecords } from "./record.ts";

export interface BatchesIn {
  bytes: Buffer;
  from: number;
  end: number;
  /** The offset that was asked for. */
  wanted: number;
  /** Nothing stands before it in the answer: the broker leaves its first batch whole (KIP-74). */
  isFirst: boolean;
}

/** A batch that the broker has cut off is left out. */
export async function readBatches(asked: BatchesIn, budget: Budget): Promise<Batches> {
  return fromWanted(await readWhole(asked, budget), asked.wanted);
}

async function readWhole(asked: BatchesIn, budget: Budget): Promise<Batches> {
  const { bytes, from, end, wanted, isFirst } = asked;
  const messages: FetchedMessage[] = [];
  let position = wanted;
  for (let at = from; end - at > prefixBytes;) {
    const length = lengthOf(bytes, at);
    const isWhole = length > 0 && at + prefixBytes + length <= end;
    if (!isWhole && !(isFirst && at === from)) break;
    const batchEnd = isWhole ? at + prefixBytes + length : end;
    try {
      if (!isWhole) throw new Unreadable("truncated_batch", `it has ${end - at} bytes of ${length + prefixBytes}`);
      checkHead(bytes, at, batchEnd);
      const head = readHead(bytes, at);
      const read = await readBatch(head, bytes.subarray(at + prefixBytes + headBytes, batchEnd), position, budget);
      for (const message of read.messages) messages.push(message);
      if (read.isCut) return { messages, isCut: true };
      if (Number(messages.at(-1)?.offset ?? -1) < head.last && head.last >= wanted) messages.push(gap(head, head.last));
      position = Math.max(position, head.last + 1);
    } catch (error) {
      const [base, last] = [int64(bytes, at), Math.max(position, lastOfDamaged(bytes, at, batchEnd, end))];
      const first = base > position && base <= last ? base : position;
      messages.push(unreadable(bytes.subarray(at, batchEnd), { first, last }, unreadableOf(error)));
      position = last + 1;
    }
    at = batchEnd;
  }
  return { messages, isCut: false };
}

/**
 * Where the first message is behind the offset that was asked for, those between are passed, too:
 * who follows the partition must not take them for missing.
 */
function fromWanted({ messages, isCut }: Batches, wanted: number): Batches {
  const [first] = messages;
  if (first !== undefined && Number(first.offset) > wanted) messages.unshift(gap(first.batchContext, wanted));
  return { messages, isCut };
}

async function readBatch(head: BatchHead, payload: Buffer, from: number, budget: Budget): Promise<Batches> {
  if (head.codec === 0 || head.count === 0) return readRecords(head, payload, from, budget);
  const most = Math.min(budget.batch, budget.bytes);
  try {
    const records = await decompress(head.codec, payload, most);
    budget.bytes -= records.length;
    return readRecords(head, records, from, budget);
  } catch (error) {
    // The next answer has room for it.
    if (most < budget.batch && unreadableOf(error).code === "batch_too_large") return { messages: [], isCut: true };
    throw error;
  }
}

const none: Headers = [];

/** Passes an offset as a control record does, and belongs to no producer. */
const gap = (batch: BatchContext, offset: number): FetchedMessage => ({
  ...{ magicByte: batch.magicByte, attributes: 0, timestamp: batch.maxTimestamp, offset: String(offset) },
  ...{ key: null, value: null, headers: none, isControlRecord: true },
  batchContext: { ...batch, producerId: "-1", inTransaction: false },
});

/** In an aborted transaction it counts no more than a record: kafkajs filters it. */
function unreadable(
  batch: Buffer,
  { first, last }: { first: number; last: number },
  { code, message }: Unreadable,
): FetchedMessage {
  const hasHead = batch.length >= prefixBytes + headBytes && code !== "unknown_format";
  const head = readHead(hasHead ? batch : Buffer.alloc(prefixBytes + headBytes), 0);
  return {
    ...{ magicByte: head.magicByte, attributes: 0, timestamp: head.maxTimestamp, offset: String(last) },
    ...{ key: null, value: batch, headers: none, isControlRecord: false, batchContext: head },
    unreadable: { first, code, reason: message },
  };
}
