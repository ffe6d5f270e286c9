// The stage record without Kafka: records are handed over by the test, batches go to a real
// ClickHouse.
import { pino } from "pino";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { SinkSource } from "../../connections/kafka/port.ts";
import type { WatchedSource } from "../../connections/kafka/sink-source.ts";
import { createBatch } from "../../operators/batch/batch.ts";
import { createDecode } from "../../operators/decode/decode.ts";
import { recordedTopicOf, tableOf, type RecordedTopic } from "../../operators/decode/rows.ts";
import { createUndecodable } from "../../operators/decode/undecodable.ts";
import { createInsert } from "../../operators/insert/insert.ts";
import { createRefused } from "../../operators/insert/refused.ts";
import { createStoredOffsets } from "../../operators/insert/stored-offsets.ts";
import { createMetricsRegistry, createStageMetrics } from "../../runtime/metrics/stage.ts";
import type { Source } from "../../runtime/rows.ts";
import { createSink } from "../../runtime/sink.ts";

type Handlers = Parameters<SinkSource["run"]>[0];

const prefix = "t.";
/**
 * Time of the first record, milliseconds since the epoch; the next ones follow by a millisecond.
 */
export const createdAt = Date.UTC(2026, 2, 1);

interface RecordLimits {
  batchRows?: number;
  batchMs?: number;
}

/** The record stage on any source; values are JSON, since the codec has tests of its own. */
export function recordFrom(
  clickhouse: ClickHouse,
  source: SinkSource & Partial<Pick<WatchedSource, "origin">>,
  limits: RecordLimits = {},
  prefix = "t.",
) {
  const deadLetters: { source: Source; code: string }[] = [];
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
    source,
    decode({ topic, partition, record }, signal) {
      const { offset, timestamp } = record;
      const origin = source.origin?.(topic, partition);
      const place = { topic, partition, offset, timestamp, ...(origin === undefined ? {} : { origin }) };
      return decode(topicOf(topic), record, place, signal);
    },
    batch: createBatch({ maxRows: limits.batchRows ?? 1_000, maxBytes: 1_000_000 }),
    insert: createInsert({ clickhouse, deadLetter: refused }),
    storedOffsets: createStoredOffsets(clickhouse, (topic) => tableOf(topicOf(topic))),
    undecodable,
    metrics: createStageMetrics(createMetricsRegistry(), "record"),
    log: pino({ level: "silent" }),
    batchMs: limits.batchMs ?? 10,
    drainMs: 5_000,
  });
  return { stage, deadLetters };
}

/** A record stage whose records are handed over by the test. */
export async function startRecordOn(clickhouse: ClickHouse, limits: RecordLimits = {}) {
  let handlers: Handlers | null = null;
  const committed = new Map<string, number>();
  const source: SinkSource = {
    run: async (given) => {
      handlers = given;
    },
    commit: async (positions) => {
      for (const { topic, partition, offset } of positions) committed.set(`${topic}/${partition}`, offset);
    },
    stop: async () => {},
  };
  const { stage, deadLetters } = recordFrom(clickhouse, source, limits, prefix);
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
