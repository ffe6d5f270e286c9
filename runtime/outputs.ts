// What the work on a record ends in, as messages: what its operators emit, the final answer that
// its reader is owed, a dead letter.
import type { Logger } from "pino";
import type { OutgoingMessage, RawRecord } from "../connections/kafka/port.ts";
import type { Codec } from "../connections/registry/port.ts";
import type { RecordOf, TopicName } from "../schemas/records.ts";
import { deadLetterRecord, type Reason } from "./dead-letter.ts";
import type { StageMetrics } from "./metrics/port.ts";
import type { BoundPipeline, Emitting, Problem } from "./pipeline.ts";
import type { DeadLetter, Emit, Ending, Position, Received } from "./step.ts";
import type { RecordTrace, StageTracing } from "./tracing/port.ts";

export type InItsTime<N extends TopicName> = <T>(record: RecordOf[N], work: () => Promise<T>) => Promise<T>;

export interface OutputsOptions<N extends TopicName> {
  pipeline: BoundPipeline<N>;
  codec: Codec;
  topicOf: (output: TopicName, owner?: string) => string;
  now: () => number;
  /** Does the work in a record's own time (log replay); absent: in the present. */
  inItsTime?: InItsTime<N> | undefined;
  metrics: StageMetrics;
  /** Absent: nothing is traced. */
  tracing?: Pick<StageTracing, "begin"> | undefined;
  log: Logger;
}

export type Concluded = Exclude<Ending<Emitting, TopicName>, DeadLetter>;

export interface Outputs<N extends TopicName> {
  /** bare: without any of the record's bytes. */
  deadLetter(record: RawRecord, position: Position, why: Omit<Reason, "stage">, bare?: boolean): OutgoingMessage;
  answer(received: Received<RecordOf[N]>, problem: Problem): Emit[];
  conclude(outcome: Concluded, received: Received<RecordOf[N]>): Emit[];
  encode(emits: readonly Emit[], trace?: RecordTrace): OutgoingMessage[];
}

export function createOutputs<N extends TopicName>(options: OutputsOptions<N>): Outputs<N> {
  const { pipeline, codec, topicOf, now, metrics, log } = options;
  const { contract, description } = pipeline;
  const stage = description.name;

  const encode: Outputs<N>["encode"] = (emits, trace) =>
    emits.map((emit) => {
      metrics.sent(emit.arm === undefined ? emit.output : `${emit.output}.${emit.arm}`, 1);
      const message: OutgoingMessage = {
        topic: topicOf(emit.output, emit.arm ?? emit.tenant),
        key: emit.key,
        value: codec.encode(emit.output, emit.record),
      };
      if (emit.partition !== undefined) message.partition = emit.partition;
      if (trace !== undefined) message.headers = trace.headers;
      return message;
    });

  const deadLetter: Outputs<N>["deadLetter"] = (record, position, why, bare) => {
    metrics.dropped(why.code);
    log.warn({ ...position, code: why.code, reason: why.reason }, "dead letter");
    const tenant = contract.tenantOf?.(position);
    const letter = deadLetterRecord(
      record,
      position,
      { stage, ...why, ...(tenant !== undefined && { tenant }) },
      now(),
      bare,
    );
    return { topic: topicOf("dead-letters"), key: letter.key, value: codec.encode("dead-letters", letter) };
  };

  const { answer } = contract;

  function conclude(outcome: Concluded, received: Received<RecordOf[N]>): Emit[] {
    switch (outcome.kind) {
      case "ok":
        return outcome.value.emits;
      case "finish":
        return outcome.emits;
      case "refuse":
        metrics.dropped(outcome.code);
        return answer(received, {
          ...{ status: "refused", code: outcome.code, message: outcome.message },
          ...(outcome.repeat === true ? { repeat: true } : {}),
        });
      case "retryLater":
        throw outcome.cause; // retrying() lets none through
    }
  }

  return { deadLetter, answer, conclude, encode };
}
