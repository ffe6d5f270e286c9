// The stage record without Kafka: records are handed over by the test, batches go to a real ClickHouse.
import { pino } from "pino";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { SinkSource } from "../../connections/kafka/port.ts";
import { createBatch } from "../../operators/batch/batch.ts";
import { createDecode } from "../../operators/decode/decode.ts";
import { recordedTopicOf, tableOf, type RecordedTopic } from "../../operators/decode/rows.ts";
import { createUndecodable } from "../../operators/decode/undecodable.ts";
import { createInsert } from "../../operators/insert/insert.ts";
import { createRefused } from "../../operators/insert/refused.ts";
import { createStoredOffsets } from "../../operators/insert/stored-offsets.ts";
import { createMetricsRegistry, createStageMetrics } from "../../runtime/metrics.ts";
import type { Source } from "../../runtime/rows.ts";
import { createSink } from "../../runtime/sink.ts";

type Handlers = Parameters<SinkSource["run"]>[0];

const prefix = "t.";
/** Of the first record, in milliseconds since the epoch; the next ones follow by a millisecond. */
export const createdAt = Date.UTC(2026, 2, 1);

/** A record stage whose records are handed over by the test; values are JSON, since the codec has tests of its own. */
export async function startRecordOn(clickhouse: ClickHouse, limits: { batchRows?: number; batchMs?: number } = {}) {
  let handlers: Handlers | null = null;
  const deadLetters: { source: Source; code: string }[] = [];
  const committed = new Map<string, number>();
  const topicOf = recordedTopicOf(prefix);
  const decode = createDecode({
    codec: {
      decode: async (_topic, bytes) =>
        bytes[0] === 0 ? { ok: false, code: "undecodable", reason: "no JSON" } : { ok: true, value: parse(bytes) },
    },
  });
  const deadLetter = async (source: Source, code: string): Promise<void> => {
    deadLetters.push({ source, code });
  };
  const undecodable = createUndecodable({ topicOf, onUndecodable: () => undefined, deadLetter });
  const refused = createRefused({ letters: `${prefix}dead-letters`, onRefused: () => undefined, deadLetter });
  const stage = createSink({
    source: {
      run: async (given) => {
        handlers = given;
      },
      commit: async (positions) => {
        for (const { topic, partition, offset } of positions) committed.set(`${topic}/${partition}`, offset);
      },
      stop: async () => {},
    },
    decode: ({ topic, partition, record }, signal) =>
      decode(topicOf(topic), record, { topic, partition, offset: record.offset, timestamp: record.timestamp }, signal),
    batch: createBatch({ maxRows: limits.batchRows ?? 1_000, maxBytes: 1_000_000 }),
    insert: createInsert({ clickhouse, deadLetter: refused }),
    storedOffsets: createStoredOffsets(clickhouse, (topic) => tableOf[topicOf(topic)]),
    undecodable,
    metrics: createStageMetrics(createMetricsRegistry(), "record"),
    log: pino({ level: "silent" }),
    batchMs: limits.batchMs ?? 10,
    drainMs: 5_000,
  });
  await stage.run();
  const given = handlers as Handlers | null;
  if (given === null) throw new Error("the source was not run");
  return {
    stage,
    deadLetters,
    committed,
    assigned: (topic: RecordedTopic, partition: number) =>
      given.onAssigned([{ topic: `${prefix}${topic}`, partition }]),
    feed: (topic: RecordedTopic, partition: number, offset: number, records: readonly (object | null)[], key = "k") =>
      given.onRecords(
        `${prefix}${topic}`,
        partition,
        records.map((record, index) => ({
          offset: offset + index,
          key: Buffer.from(key),
          value:
            record === null ? null : Buffer.isBuffer(record) ? record : Buffer.from(JSON.stringify(record, nanAsText)),
          headers: {},
          timestamp: createdAt + offset + index,
        })),
        () => false,
      ),
  };
}

const nanAsText = (_name: string, value: unknown): unknown => (Number.isNaN(value) ? "not a number" : value);

function parse<T>(bytes: Buffer): T {
  // What went in as a testing record comes out as one.
  const parsed: unknown = JSON.parse(bytes.toString("utf8"), (_name, value: unknown) => {
    if (value === "not a number") return Number.NaN;
    const isBuffer = typeof value === "object" && value !== null && "type" in value && value.type === "Buffer";
    return isBuffer && "data" in value && Array.isArray(value.data) ? Buffer.from(value.data) : value;
  });
  return parsed as T;
}
