// A record that can't be processed, whole: its bytes, where it was, why it stopped. Nothing of it
// is lost, and the partition moves on.
import type { RawRecord } from "../connections/kafka/port.ts";
import type { DeadLetter } from "../schemas/types.ts";
import type { Position } from "./step.ts";

export interface Reason {
  stage: string;
  code: string;
  reason: string;
  tenant?: string;
}

export function deadLetterRecord(record: RawRecord, position: Position, why: Reason, now: number): DeadLetter {
  return {
    tenant: why.tenant ?? "default",
    stage: why.stage,
    code: why.code,
    reason: why.reason.slice(0, 4_000),
    topic: position.topic,
    partition: position.partition,
    offset: position.offset,
    key: record.key,
    value: record.value,
    headers: record.headers,
    timestamp: record.timestamp,
    createdAt: now,
  };
}
