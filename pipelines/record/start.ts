// Puts record on the runtime: the recorded topics as one group, rows into ClickHouse, what
// ClickHouse refuses into dead-letters.
import { arrivalOf } from "../../algorithms/identity/identity.ts";
import { createSinkSource } from "../../connections/kafka/sink-source.ts";
import {
  clientTopics,
  recordedTopicOf,
  recordedTopics,
  tableOf,
  type RecordedTopic,
} from "../../operators/decode/rows.ts";
import type { RowPosition } from "../../operators/decode/values.ts";
import { createErasedAmong } from "../../operators/erased.ts";
import { createStoredOffsets } from "../../operators/insert/stored-offsets.ts";
import { createStageMetrics } from "../../runtime/metrics/stage.ts";
import { createLag } from "../../runtime/lag.ts";
import { reportOf, watchProgress } from "../../runtime/progress.ts";
import type { Source } from "../../runtime/rows.ts";
import { groupName, type RunningStage } from "../../runtime/running-stage.ts";
import { createSink } from "../../runtime/sink.ts";
import type { StageHealth } from "../../runtime/stage-health.ts";
import { traceBatch } from "../../runtime/tracing/batch.ts";
import type { SessionOf } from "../../state/session.ts";
import { openDeadLetters } from "./dead-letters.ts";
import { record } from "./pipeline.ts";
import type { Logger } from "pino";
import type { Config } from "../../config/schema.ts";
import { maskOptions } from "../../config/sections/privacy.ts";
import { createTextWork } from "../../connections/text/supervised.ts";
import type { MaskingDependencies } from "../../operators/redact/redact.ts";

/** Few large fetches cost a fraction of many small ones. */
const fetchWait = { minBytes: 1_048_576, maxWaitMs: 200 };

const remedies = {
  unadopted: "ClickHouse or Kafka does not say where to go on: see that both answer",
  uncommitted: "rows are not stored: see that ClickHouse answers and takes them; nothing is skipped meanwhile",
};

export async function startRecord(session: SessionOf<typeof record>, instance: string): Promise<RunningStage> {
  const { config, kafka, codec, clickhouse, topic } = session;
  const log = session.log.child({ stage: record.name });
  const { prefix, sessionTimeoutMs } = config.kafka;
  const recordOf = recordedTopicOf(prefix);
  const waiting = (cause: unknown): void =>
    log.warn({ err: cause }, "a dependency is away: waiting, nothing is skipped");
  let [partitions, resets] = [0, 0];
  const group = groupName(prefix, record.name);
  const topics = recordedTopics.map((name) => topic(name));
  const consumer = kafka.groupConsumer({ group, topics, instance, sessionTimeoutMs, fetch: fetchWait });
  const storedOffsets = createStoredOffsets(clickhouse, (name) => tableOf(recordOf(name)));
  const metrics = createStageMetrics(session.metrics, record.name);
  const letters = openDeadLetters(session, { recordOf, metrics, log });
  const { masking, close: closeMasking } = openMasking(config, log);
  const source = createSinkSource(consumer, log, (reason) => {
    resets++;
    metrics.reset(reason);
  });
  const { assigned } = source;
  const lag = createLag({ assigned, committed: (name, partition) => source.progress(name, partition)?.committed });
  metrics.lag(lag.now);
  const progress = watchProgress({
    ...{ assigned, progress: source.progress, ends: kafka.ends, onEnd: lag.saw, log, remedies },
    stalledAfterMs: config.health.stalledAfterMs,
    slowestMs: 0,
  });
  const { decode, batch, insert } = record.bind({
    ...{ codec, clickhouse, masking, deadLetter: letters.refused, onWaiting: waiting },
    ...{ maxRows: config.record.batchRows, maxBytes: 64 * 1024 * 1024 },
    erasedAmong: createErasedAmong({ clickhouse, clock: Date.now }),
    onErased: (rows: number) => metrics.dropped("erased", rows),
  });
  const sink = createSink({
    source,
    decode(from, signal) {
      const name = recordOf(from.topic);
      const origin = source.origin(from.topic, from.partition);
      return decode(name, from.record, { ...positionOf(name, from, session.logReplay !== undefined), origin }, signal);
    },
    ...(session.tracing === undefined ? { batch } : traceBatch(batch, session.tracing, { stage: record.name, group })),
    ...{ insert, undecodable: letters.undecodable, onHighWatermark: lag.saw, metrics, log },
    async storedOffsets(assigned) {
      partitions = assigned.length;
      return storedOffsets(assigned);
    },
    ...{ batchMs: config.record.batchMs, drainMs: config.limits.drainMs },
  });
  await sink.run();
  return {
    name: record.name,
    health: () => healthOf(progress, sink.problem(), { partitions, resets }),
    async stop() {
      progress.stop();
      metrics.lag(() => []);
      await sink.stop();
      await Promise.all([letters.close(), closeMasking()]);
    },
  };
}

function healthOf(
  progress: ReturnType<typeof watchProgress>,
  broken: string | undefined,
  { partitions, resets }: { partitions: number; resets: number },
): StageHealth {
  const { problems = [], ...stall } = reportOf(progress);
  const all = broken === undefined ? problems : [broken, ...problems];
  const positions = resets === 0 ? {} : { resets };
  return {
    joined: true,
    partitions,
    inFlight: 0,
    ...positions,
    ...stall,
    ...(all.length > 0 ? { problems: all } : {}),
  };
}

/**
 * Position of a record's rows with its arrival. A client's timestamp is trusted only near now, a
 * stage's always. A log replay's records keep their own times.
 */
function positionOf(name: RecordedTopic, { topic, partition, record: raw }: Source, isHistory: boolean): RowPosition {
  const { offset, timestamp } = raw;
  const position = { topic, partition, offset, timestamp, traceparent: raw.headers["traceparent"] };
  if (isHistory) return position;
  return { ...position, arrivedAt: arrivalOf(raw, Date.now(), clientTopics.has(name) ? undefined : Infinity) };
}

/** Replaces personal data before every insert where privacy.redact.clickhouse says so. */
interface OpenedMasking extends Pick<MaskingDependencies, "masking"> {
  close(): Promise<void>;
}

function openMasking(config: Config, log: Logger): OpenedMasking {
  const options = maskOptions(config);
  if (!config.privacy.redact.clickhouse || options === undefined)
    return { masking: undefined, close: () => Promise.resolve() };
  const text = createTextWork({ limitMs: config.limits.textMs, log: log.child({ worker: "text" }) });
  const onWithheld = (texts: number): void =>
    log.warn({ texts }, "what is personal in some texts could not be told in time: they are withheld");
  return { masking: { text, options, onWithheld }, close: text.close };
}
