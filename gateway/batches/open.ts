// Opens files and batches: the table of all, and the work on the batches that this gateway owns.
import { createOffPeakWindow } from "../../algorithms/queueing/off-peak-window.ts";
import type { PlainProducer } from "../../connections/kafka/port.ts";
import { withTimeout } from "../../runtime/with-timeout.ts";
import { followTable } from "../../runtime/table.ts";
import type { Topic } from "../../schemas/records.ts";
import type { BatchPart } from "../../schemas/types.ts";
import type { SessionOf } from "../../state/session.ts";
import type { Caller } from "../caller.ts";
import type { Ask } from "../ask.ts";
import type { NamedArm } from "../api/models.ts";
import type { CancelPublisher } from "../cancel.ts";
import type { KeyTable } from "../keys/table.ts";
import { accountOf } from "../keys/key.ts";
import { unavailable, type Send } from "../send.ts";
import { createAskLine, type AskLine } from "./ask-line.ts";
import { createBatchMetrics } from "./metrics.ts";
import { createReadLines, type ReadLines } from "./read-lines.ts";
import { countRecorded } from "./recorded.ts";
import { createResults, type Results } from "./results.ts";
import { createRunner } from "./runner.ts";
import type { StoreFileDependencies } from "./store-file.ts";
import { createBatchTable, noPart, partKey, type BatchTable, type StoredBatch } from "./table.ts";
import { createWork } from "./work.ts";

type BatchSession = SessionOf<{
  tables: ["batches", "batch-lines", "ClickHouse"];
  outputs: ["batches", "batch-lines", "responses"];
}>;

export interface BatchesOptions {
  session: BatchSession;
  producer: Pick<PlainProducer<Topic<"batch-lines">>, "send">;
  send: Send<Topic<"batches" | "responses">>;
  ask: Ask;
  cancel: Pick<CancelPublisher, "gone">;
  keys: Pick<KeyTable, "ofAccount">;
  arms: () => readonly NamedArm[];
  /** Whether this gateway works on a batch. */
  owns: (batchId: string) => boolean;
  /** Utilisation of the busiest arm; undefined: not known yet. */
  load: () => number | undefined;
  clock: () => number;
  log: BatchSession["log"];
}

export interface Batches {
  table: BatchTable;
  /** This table has the part at once. Rejects with ApiError while the brokers are away. */
  save(part: Partial<BatchPart> & Pick<BatchPart, "id" | "tenant">): Promise<void>;
  storing: Omit<StoreFileDependencies, "onBytes" | "onStored">;
  readLines: ReadLines;
  results: Results;
  /** Resolves when the topic was read to its end. */
  caughtUp: Promise<void>;
  stop(): Promise<void>;
}

/** Maximum lines under way at this gateway. */
const mostLines = 64;

export function openBatches(options: BatchesOptions): Batches {
  const { session, producer, send, ask, cancel, keys, arms, owns, load, clock, log } = options;
  const { kafka, codec, topic, config, clickhouse } = session;
  const { acceptMs, maxBodyBytes: mostLineBytes, models: aliases } = config.gateway;
  const table = createBatchTable(clock);
  const reader = followTable({
    ...{ kafka, codec, log, topic: topic("batches"), record: "batches" as const },
    apply: (changes) => table.apply(changes),
  });
  const save: Batches["save"] = async (part) => {
    const whole = { ...noPart, createdAt: clock(), ...part };
    const key = partKey(whole);
    await send({ topic: topic("batches"), key, value: codec.encode("batches", whole) });
    table.apply([{ key, value: whole }]);
  };
  const readLines = createReadLines({ kafka, codec, topic: topic("batch-lines"), log });
  const results = createResults({ clickhouse, readLines, mostLineBytes });
  const askLine = createAskLine({
    ...{ ask, send, codec, topic: topic("responses"), arms, aliases, costWeight: config.batch.costWeight },
    ...{ maxDeadlineMs: config.limits.maxDeadlineMs, mostLineBytes, clock },
  });
  const metrics = createBatchMetrics(session.metrics);
  const counted: AskLine = async (...line) => {
    const outcome = await askLine(...line);
    metrics.finished(outcome);
    return outcome;
  };
  metrics.follows(table.unfinished);
  const runner = createRunner({
    ...{ unfinished: table.unfinished, owns, load, now: () => performance.now(), log },
    newWindow: () => createOffPeakWindow({ limit: config.limits.offPeakLoad, most: mostLines }),
    mostDue: mostLines,
    workOf: (batch, room) =>
      createWork(batch, {
        ...{ readLines, askLine: counted, room, results, clock, log },
        callerOf: (stored) => callerOf(stored, keys),
        cancel: (request) => cancel.gone(request),
        countRecorded: ({ id: batchId, tenant, createdAt: since }) =>
          countRecorded(clickhouse, { batchId, tenant, first: 0, last: 999_999_999, since }),
        save: ({ id, tenant }, progress) => save({ id, tenant, progress }),
      }),
  });
  let stopped: Promise<void> | undefined;
  return {
    ...{ table, save, readLines, results, caughtUp: reader.caughtUp },
    storing: {
      ...{ kafka, codec, topic: topic("batch-lines"), mostLineBytes },
      send: acknowledged(producer, acceptMs),
    },
    stop: () => (stopped ??= Promise.all([runner.stop(), reader.stop()]).then(() => undefined)),
  };
}

/** Rejects with ApiError where the brokers did not acknowledge in time. */
const acknowledged =
  (producer: BatchesOptions["producer"], acceptMs: number): StoreFileDependencies["send"] =>
  async (messages) => {
    const sent = producer.send(messages).then(() => true as const);
    const taken = await withTimeout(acceptMs, sent).catch((error: unknown) => {
      throw unavailable(error);
    });
    if (taken !== true) throw unavailable(new Error(`no acknowledgement within ${acceptMs} ms`));
  };

/** The key may have changed since the batch was ordered; null: it is gone. */
function callerOf({ tenant, order: { account } }: StoredBatch, keys: BatchesOptions["keys"]): Caller | null {
  if (account === null) return { tenant, arms: null, domains: null };
  const found = keys.ofAccount(tenant, account);
  if (found === null) return null;
  const { key, limits } = found;
  return { tenant, arms: key.arms, domains: key.domains, limits, keyId: key.id, account: accountOf(key) };
}
