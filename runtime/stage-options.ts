// What a stage is made of: name, topics, limits, and the work on a record.
import type { Logger } from "pino";
import type { Kafka, OutgoingMessage, RawRecord, TopicPartition } from "../connections/kafka/port.ts";
import type { StageMetrics } from "./metrics/port.ts";
import type { Cancellation } from "./lazy-abort.ts";
import type { SlotLimits } from "./slots.ts";
import type { ProgressLimits } from "./progress.ts";
import type { Slot, Position } from "./step.ts";
import type { StageTracing } from "./tracing/port.ts";

/** Outputs of a record. Rejects only when its partition is lost. */
export type Process = (
  record: RawRecord,
  position: Position,
  lost: Cancellation,
  slot?: Slot,
) => Promise<OutgoingMessage[]>;

export interface StageOptions {
  name: string;
  group: string;
  topics: readonly string[];
  transactionalId: string;
  instance: string;
  /** Full names of the topics that it writes to, in this life or a former one. */
  outputs?: () => readonly string[];
  sessionTimeoutMs: number;
  limits: SlotLimits & { drainMs: number };
  /** Flow (tenant) of a record, for slots by weight. Absent: first come, first served. */
  flowOf?: (record: RawRecord) => string;
  /** 1 by default. */
  weightOf?: (flow: string) => number;
  /** Absent: its progress is not watched. */
  health?: ProgressLimits;
  kafka: Kafka;
  process: Process;
  /** Outputs for a record whose own the broker refuses for good. */
  rejected: (record: RawRecord, position: Position, cause: unknown, again: boolean) => Promise<OutgoingMessage[]>;
  /** State to restore before a record of newly assigned partitions is taken. */
  onAdopt?: (partitions: readonly TopicPartition[]) => Promise<void>;
  /** A partition was lost; what was restored for it may go. */
  onDropped?: (partition: TopicPartition) => void;
  metrics: StageMetrics;
  tracing?: Pick<StageTracing, "committed" | "dropped"> | undefined;
  log: Logger;
}
