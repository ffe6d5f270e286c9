// record: every topic into ClickHouse. Effectively once: positions are found in ClickHouse, and a row that arrives twice is the same row.
import type { Logger } from "pino";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import type { Codec } from "../connections/registry/port.ts";
import { createBatch } from "../operators/batch/batch.ts";
import { createDecode } from "../operators/decode/decode.ts";
import { recordedTopics, recordedTopicOf, tableOf } from "../operators/decode/rows.ts";
import { createUndecodable } from "../operators/decode/undecodable.ts";
import { createInsert } from "../operators/insert/insert.ts";
import { createStoredOffsets } from "../operators/insert/stored-offsets.ts";
import type { StageMetrics } from "../runtime/metrics.ts";
import { createSink, type Sink, type SinkSource, type Source } from "../runtime/sink.ts";

export const record = {
  name: "record",
  sources: recordedTopics,
  operators: ["decode", "batch", "insert"],
} as const;

export interface RecordDependencies {
  source: SinkSource;
  clickhouse: Pick<ClickHouse, "insert" | "query">;
  codec: Pick<Codec, "decode">;
  /** Puts a record, whole, on dead-letters; resolves when it is there. */
  deadLetter(source: Source, code: string, reason: string): Promise<void>;
  metrics: StageMetrics;
  log: Logger;
  /** kafka.prefix */
  prefix: string;
  batchRows: number;
  batchMs: number;
  drainMs: number;
}

/** Bytes of records in a batch; the rows that ClickHouse gets are up to a few times that. */
const maxBatchBytes = 16 * 1_048_576;

export function createRecord(dependencies: RecordDependencies): Sink {
  const { source, clickhouse, codec, metrics, log, prefix, batchRows, batchMs, drainMs } = dependencies;
  const topicOf = recordedTopicOf(prefix);
  const undecodable = createUndecodable({
    topicOf,
    deadLetter: dependencies.deadLetter,
    onUndecodable: (topic, { partition, record: { offset } }, code, reason) =>
      log.warn({ topic, partition, offset, code, reason }, "a record could not become a row"),
  });
  const decode = createDecode({
    codec,
    onWaiting: (error) => log.warn({ err: error }, "waiting for the registry"),
  });
  return createSink({
    source,
    decode: (from, signal) =>
      decode(
        topicOf(from.topic),
        from.record,
        {
          topic: from.topic,
          partition: from.partition,
          offset: from.record.offset,
          timestamp: from.record.timestamp,
        },
        signal,
      ),
    batch: createBatch({ maxRows: batchRows, maxBytes: maxBatchBytes }),
    insert: createInsert({
      clickhouse,
      deadLetter: undecodable,
      onWaiting: (error) => log.warn({ err: error }, "waiting for ClickHouse"),
    }),
    storedOffsets: createStoredOffsets(clickhouse, (topic) => tableOf[topicOf(topic)]),
    undecodable,
    metrics,
    log,
    batchMs,
    drainMs,
  });
}
