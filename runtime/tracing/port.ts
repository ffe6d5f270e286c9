// A stage's work in traces: a record begins, ends in outputs that carry headers on, and is done
// when they are committed. Absent: no tracing.
import type { StepTiming } from "../../schemas/types.ts";
import type { RawRecord, TopicPartition } from "../../connections/kafka/port.ts";
import type { Emit, Position } from "../step.ts";

export interface StageTracing {
  begin(record: RawRecord, position: Position): RecordTrace;
  /** Its outputs are visible: it is done, once. */
  committed(position: Position): void;
  /** The partition belongs to another process: uncommitted work counts for nothing. */
  dropped(partition: TopicPartition): void;
}

export interface RecordTrace {
  /** For its outputs. */
  readonly headers: Readonly<Record<string, string>>;
  /** What the work starts belongs to it. */
  during<T>(work: () => T): T;
  /** What its work ended in; it is not done before that is committed. */
  worked(emits: readonly Emit[], timings: readonly StepTiming[]): void;
  deadLettered(code: string): void;
  /** It ends without outputs: another process does it again. */
  abandoned(): void;
}
