// Works on one batch, in turns: asks its lines, records the progress, and ends the batch.
import { setTimeout as sleep } from "node:timers/promises";
import type { BatchProgress, BatchResult } from "../../schemas/types.ts";
import { ApiError } from "../errors.ts";
import { createAskLines, failedWaitMs, lookEveryMs, type LineDependencies, type Turn } from "./ask-lines.ts";
import { createPosition } from "./position.ts";
import { requestIdOf, type RecordedCounts } from "./recorded.ts";
import type { Results } from "./results.ts";
import type { StoredBatch } from "./table.ts";

export interface WorkDependencies extends LineDependencies {
  /** Which of its lines are in ClickHouse. Rejects while ClickHouse can't be read. */
  countRecorded: (batch: StoredBatch) => Promise<RecordedCounts>;
  results: Results;
  /** Rejects while the brokers don't acknowledge it. */
  save: (batch: StoredBatch, progress: BatchProgress) => Promise<void>;
}

export interface Work {
  /** Milliseconds until the next turn; undefined: the batch is finished. Rejects on abort. */
  turn(turn: Turn): Promise<number | undefined>;
}

/** Between two looks for answers that come later: twice as long after each that found none. */
const deferredMs = { least: 1_000, most: 30_000 };
/** Rows that are missing after this time were erased or refused by the table. */
const recordedWithinMs = 60_000;

export function createWork(began: StoredBatch, dependencies: WorkDependencies): Work {
  const { cancel, countRecorded, results, save, clock, log } = dependencies;
  const { file, order } = began;
  const from = began.progress ?? { line: 0, offset: file.from, completed: 0, failed: 0, deferred: 0 };
  const startedAt = began.progress?.startedAt ?? clock();
  const position = createPosition(from);
  let finalizingAt = began.progress?.finalizingAt ?? null;
  let deferredWaitMs = deferredMs.least;
  let saved = "";
  let saving: Promise<void> = Promise.resolve();

  const isExpired = (): boolean => clock() >= order.expiresAt;
  /** Writes are serialised, so that an older one can't come last. */
  const record = (batch: StoredBatch, result: BatchResult | null = null, counts = {}): Promise<void> => {
    const write = async (): Promise<void> => {
      const progress = { ...position.counts(), ...counts, startedAt, finalizingAt, result };
      const text = JSON.stringify(progress);
      if (text === saved) return;
      await save(batch, progress);
      saved = text;
    };
    saving = saving.then(write, write);
    return saving;
  };
  const finished = (): number => {
    const { completed, failed, completedAhead, failedAhead } = position.counts();
    return completed + failed + completedAhead + failedAhead;
  };
  const recordSoon = (batch: StoredBatch): void =>
    void record(batch).catch((error: unknown) =>
      log.debug({ err: error, batch: batch.id }, "the progress of a batch could not be recorded; tried again"),
    );

  const askLines = createAskLines(began, position, { ...dependencies, onProgress: recordSoon });

  /** Whether the answers of all lines are recorded; those that come later take up to a day. */
  async function areRecorded(batch: StoredBatch): Promise<boolean> {
    if (position.deferred() === 0) return true;
    const before = position.deferred();
    position.recorded(await countRecorded(batch));
    deferredWaitMs = position.deferred() < before ? deferredMs.least : Math.min(deferredMs.most, 2 * deferredWaitMs);
    await record(batch);
    return position.deferred() === 0;
  }

  async function withdrawDeferred(signal: AbortSignal): Promise<void> {
    if (position.deferred() === 0) return;
    const { line: next } = position.next();
    for (let line = 1; line < next; line++) {
      cancel({ requestId: requestIdOf(began.id, line), tenant: began.tenant });
      // The cancels leave in batches meanwhile.
      if (line % 1_000 === 0) await sleep(50, undefined, { signal });
    }
  }

  async function finish(batch: StoredBatch, status: "completed" | "expired" | "cancelled", signal: AbortSignal) {
    finalizingAt ??= clock();
    await record(batch);
    const until = clock() + recordedWithinMs;
    for (;;) {
      const { completed, failed } = await countRecorded(batch);
      if (completed + failed >= finished() || clock() >= until) break;
      await sleep(lookEveryMs, undefined, { signal });
    }
    const found = { outputBytes: 0, errorBytes: 0, completed: 0, failed: 0 };
    for await (const { kind, text, asked } of results(batch, status, signal)) {
      found[kind === "output" ? "outputBytes" : "errorBytes"] += Buffer.byteLength(text);
      if (asked) found[kind === "output" ? "completed" : "failed"]++;
    }
    const { outputBytes, errorBytes, ...counts } = found;
    const result = { status, finishedAt: clock(), outputBytes, errorBytes };
    await record(batch, result, { ...counts, completedAhead: 0, failedAhead: 0 });
    log.info({ batch: batch.id, tenant: batch.tenant, status, lines: file.lines, ...counts }, "a batch has ended");
  }

  return {
    async turn({ batch, isOver, signal }) {
      try {
        let isDone = finished() === file.lines;
        if (!isDone && batch().cancelledAt === undefined && !isExpired()) {
          await record(batch());
          const { all, waitMs } = await askLines({ batch, isOver, signal });
          await record(batch());
          isDone = all && (await areRecorded(batch()));
          if (!isDone && batch().cancelledAt === undefined && !isExpired()) return all ? deferredWaitMs : waitMs;
        }
        const ended = batch().cancelledAt !== undefined ? "cancelled" : "expired";
        if (!isDone) await withdrawDeferred(signal);
        await finish(batch(), isDone ? "completed" : ended, signal);
        return undefined;
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof ApiError && error.status === 410) {
          // Its lines are past the retention: nothing is left to be asked or listed.
          log.error({ err: error, batch: began.id }, "a batch ends without its lines");
          await record(batch(), { status: "expired", finishedAt: clock(), outputBytes: 0, errorBytes: 0 });
          return undefined;
        }
        log.warn({ err: error, batch: began.id }, "a batch can't go on now; tried again later");
        return failedWaitMs;
      }
    },
  };
}
