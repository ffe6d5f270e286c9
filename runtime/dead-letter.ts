// A record that can't be processed, whole where it fits: its bytes, where it was, why it stopped.
// The beginning of a record that is larger than a dead letter may be is kept, with the size and the
// hash of the whole and the position at which it stands. The partition moves on.
import { createHash } from "node:crypto";
import { mostMessageBytes, type RawRecord } from "../connections/kafka/port.ts";
import type { DeadLetter } from "../schemas/types.ts";
import type { Position } from "./step.ts";

export interface Reason {
  stage: string;
  code: string;
  reason: string;
  tenant?: string | undefined;
}

/** For what stands in a dead letter and its message beside the record's own bytes. */
const envelopeBytes = 64 * 1024;
/** Bytes of a record that its dead letter takes whole. */
const mostWholeBytes = mostMessageBytes - envelopeBytes;
/** Bytes of the value and of the key that are left of a larger record. */
const kept = { value: 1024 * 1024, key: 16 * 1024 };

/** A record as dead letters have it; the key is the message's, too. */
type Parts = Pick<DeadLetter, "key" | "value" | "headers" | "headerList" | "fullBytes" | "fullSha256">;

/** now: milliseconds since the epoch. bare: without the record's bytes. */
export function deadLetterRecord(
  record: RawRecord,
  position: Position,
  why: Reason,
  now: number,
  bare = false,
): DeadLetter {
  return {
    tenant: why.tenant ?? "default",
    stage: why.stage,
    code: why.code,
    reason: why.reason.slice(0, 4_000),
    topic: position.topic,
    partition: position.partition,
    offset: position.offset,
    firstOffset: record.unreadable?.first ?? null,
    ...(bare ? cut(record, { value: 0, key: 0 }) : parts(record)),
    timestamp: record.timestamp,
    createdAt: now,
  };
}

function parts(record: RawRecord): Parts {
  if (sizeOf(record) > mostWholeBytes) return cut(record, kept);
  const { key, value, headers } = record;
  // Who decodes a map puts it into an object, where this name is none.
  const listed = record.headerList ?? (Object.hasOwn(headers, "__proto__") ? Object.entries(headers) : []);
  const headerList = listed.map(([name, bytes]) => ({ name, value: bytes }));
  return { key, value, headers, headerList, fullBytes: null, fullSha256: null };
}

function cut(record: RawRecord, most: { value: number; key: number }): Parts {
  const { key, value } = record;
  return {
    key: key !== null && key.length > most.key ? null : key,
    value: most.value === 0 ? null : (value?.subarray(0, most.value) ?? null),
    headers: {},
    headerList: [],
    fullBytes: bytesOf(record),
    fullSha256: value === null ? null : createHash("sha256").update(value).digest("hex"),
  };
}

type Headers = NonNullable<RawRecord["headerList"]>;
const headerBytes = (headers: Headers, each: number): number =>
  headers.reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + (value?.length ?? 0) + each, 0);

/** What a record takes in a dead letter: its key is that of the message, too. */
function sizeOf({ key, value, headers, headerList = [] }: RawRecord): number {
  const lists = headerBytes(Object.entries(headers), 12) + headerBytes(headerList, 12);
  return 2 * (key?.length ?? 0) + (value?.length ?? 0) + lists;
}

/** Size of key, value and headers. */
const bytesOf = ({ key, value, headers, headerList = Object.entries(headers) }: RawRecord): number =>
  (key?.length ?? 0) + (value?.length ?? 0) + headerBytes(headerList, 0);
