// Puts record on the runtime: the recorded topics as one group, rows into ClickHouse, what
// ClickHouse refuses into dead-letters.
import { arrivalOf } from "../../algorithms/identity/identity.ts";
import type { Logger } from "pino";
import type { Config } from "../../config/schema.ts";
import { maskOptions } from "../../config/sections/privacy.ts";
import { createSinkSource } from "../../connections/kafka/sink-source.ts";
import { createBatch } from "../../operators/batch/batch.ts";
import { createDecode } from "../../operators/decode/decode.ts";
import { clientTopics, recordedTopicOf, recordedTopics, tableOf } from "../../operators/decode/rows.ts";
import { createUndecodable } from "../../operators/decode/undecodable.ts";
import { createErasedAmong } from "../../operators/erased.ts";
import { createInsert } from "../../operators/insert/insert.ts";
import { createWithoutErased } from "../../operators/insert/without-erased.ts";
import { createRedact } from "../../operators/redact/redact.ts";
import { createRefused } from "../../operators/insert/refused.ts";
import { createStoredOffsets } from "../../operators/insert/stored-offsets.ts";
import { record } from "./pipeline.ts";
import { createTextWork } from "../../connections/text/supervised.ts";
import { deadLetterRecord } from "../../runtime/dead-letter.ts";
import { createStageMetrics } from "../../runtime/metrics/stage.ts";
import { reportOf, watchProgress } from "../../runtime/progress.ts";
import type { Source } from "../../runtime/rows.ts";
import { createSink } from "../../runtime/sink.ts";
import type { SessionOf } from "../../state/session.ts";
import { groupName, type RunningStage } from "../../runtime/running-stage.ts";
import { traceBatch } from "../../runtime/tracing/batch.ts";

/**
 * Nobody waits for a row: few large fetches over all partitions cost a fraction of many small ones.
 */
const patience = { minBytes: 1_048_576, maxWaitMs: 200 };

export async function startRecord(session: SessionOf<typeof record>, instance: string): Promise<RunningStage> {
  const { config, kafka, codec, clickhouse, topic } = session;
  const log = session.log.child({ stage: record.name });
  const { prefix, sessionTimeoutMs } = config.kafka;
  const recordOf = recordedTopicOf(prefix);
  const letters = kafka.plainProducer();
  const waiting = (cause: unknown): void =>
    log.warn({ err: cause }, "a dependency is away: waiting, nothing is skipped");
  let joined = false;
  let partitions = 0;
  let resets = 0;

  const consumer = kafka.groupConsumer({
    group: groupName(prefix, record.name),
    topics: recordedTopics.map((name) => topic(name)),
    instance,
    sessionTimeoutMs,
    fetch: patience,
  });
  const decode = createDecode({ codec, onWaiting: waiting });
  const storedOffsets = createStoredOffsets(clickhouse, (name) => tableOf[recordOf(name)]);
  const deadLetter = async (
    { topic: from, partition, record: raw }: Source,
    code: string,
    reason: string,
    headers: Record<string, string> = {},
  ): Promise<void> => {
    const position = { topic: from, partition, offset: raw.offset };
    const letter = deadLetterRecord(raw, position, { stage: record.name, code, reason }, Date.now());
    await letters.send([
      { topic: topic("dead-letters"), key: raw.key, value: codec.encode("dead-letters", letter), headers },
    ]);
  };
  const undecodable = createUndecodable({
    topicOf: recordOf,
    deadLetter,
    onUndecodable: (_topic, { topic: from, partition, record: raw }, code, reason) => {
      log.warn({ topic: from, partition, offset: raw.offset, code, reason }, "a record has no row");
    },
  });
  const metrics = createStageMetrics(session.metrics, record.name);
  const redacting = openRedaction(config, { waiting, log });
  const refused = createRefused({
    letters: topic("dead-letters"),
    deadLetter,
    onRefused({ topic: from, partition, record: raw }, code, reason, kept) {
      metrics.dropped(code);
      const what = { topic: from, partition, offset: raw.offset, code, reason };
      if (kept) log.warn(what, "ClickHouse refuses a row: its record is a dead letter");
      else log.error(what, "ClickHouse refuses a dead letter twice: its bytes are on the topic alone");
    },
  });
  const source = createSinkSource(consumer, log, (reason) => {
    resets++;
    metrics.reset(reason);
  });
  const progress = watchProgress({
    ...{ assigned: source.assigned, progress: source.progress, ends: kafka.ends, log },
    stalledAfterMs: config.health.stalledAfterMs,
    slowestMs: 0,
    remedies: {
      unadopted: "ClickHouse or Kafka does not say where to go on: see that both answer",
      uncommitted: "rows are not stored: see that ClickHouse answers and takes them; nothing is skipped meanwhile",
    },
  });
  const batch = createBatch({ maxRows: config.record.batchRows, maxBytes: 64 * 1024 * 1024 });
  const sink = createSink({
    source,
    decode({ topic: from, partition, record: raw }, signal) {
      const name = recordOf(from);
      const { offset, timestamp } = raw;
      // Of a client a stamp of its own is believed only near to now; ours may have waited for
      // record as long as they like.
      // What is replayed is history: it is dated by what it says.
      const arrived =
        session.logReplay === undefined
          ? { arrivedAt: arrivalOf(raw, Date.now(), clientTopics.has(name) ? undefined : Infinity) }
          : {};
      const origin = source.origin(from, partition);
      return decode(name, raw, { topic: from, partition, offset, timestamp, ...arrived, origin }, signal);
    },
    ...(session.tracing === undefined
      ? { batch }
      : traceBatch(batch, session.tracing, { stage: record.name, group: groupName(prefix, record.name) })),
    insert: createWithoutErased({
      erasedAmong: createErasedAmong({ clickhouse, clock: Date.now }),
      insert: redacting.insert(createInsert({ clickhouse, onWaiting: waiting, deadLetter: refused })),
      onErased: (rows) => metrics.dropped("erased", rows),
      onWaiting: waiting,
    }),
    async storedOffsets(assigned) {
      partitions = assigned.length;
      return storedOffsets(assigned);
    },
    undecodable,
    metrics,
    log,
    batchMs: config.record.batchMs,
    drainMs: config.limits.drainMs,
  });
  await sink.run();
  joined = true;
  return {
    name: record.name,
    health() {
      const { problems = [], ...stall } = reportOf(progress);
      const broken = sink.problem();
      const all = broken === undefined ? problems : [broken, ...problems];
      const positions = resets === 0 ? {} : { resets };
      return { joined, partitions, inFlight: 0, ...positions, ...stall, ...(all.length > 0 ? { problems: all } : {}) };
    },
    async stop() {
      progress.stop();
      await sink.stop();
      await Promise.all([letters.close(), redacting.close()]);
    },
  };
}

type Insert = ReturnType<typeof createInsert>;

/** Before every insert, where privacy.redact.clickhouse says so; with a worker of its own. */
function openRedaction(
  config: Config,
  { waiting, log }: { waiting: (cause: unknown) => void; log: Logger },
): { insert(insert: Insert): Insert; close(): Promise<void> } {
  const options = maskOptions(config);
  if (!config.privacy.redact.clickhouse || options === undefined)
    return { insert: (insert) => insert, close: () => Promise.resolve() };
  const text = createTextWork({ limitMs: config.limits.textMs, log: log.child({ worker: "text" }) });
  const onWithheld = (texts: number): void =>
    log.warn({ texts }, "what is personal in some texts could not be told in time: they are withheld");
  return {
    insert: (insert) => createRedact({ text, options, insert, onWithheld, onWaiting: waiting }),
    close: text.close,
  };
}
