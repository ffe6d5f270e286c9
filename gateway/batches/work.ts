// Works on one batch, in turns: asks its lines while there is room or they are due, records the
// progress, and ends the batch.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { dueBy } from "../../algorithms/queueing/off-peak-window.ts";
import type { BatchProgress, BatchResult } from "../../schemas/types.ts";
import type { Caller } from "../access.ts";
import { ApiError } from "../errors.ts";
import { Busy, type AskLine } from "./ask-line.ts";
import { createPosition } from "./position.ts";
import type { LineAt, ReadLines } from "./read-lines.ts";
import { requestIdOf, type RecordedCounts } from "./recorded.ts";
import type { Results } from "./results.ts";
import type { StoredBatch } from "./table.ts";

export interface WorkDependencies {
  readLines: ReadLines;
  askLine: AskLine;
  /** The caller that created it; null: its key was revoked or has expired. */
  callerOf: (batch: StoredBatch) => Caller | null;
  /** Room for one more line, shared by all batches of this gateway. due: whatever the load is. */
  room: { take(due: boolean): (() => void) | undefined };
  cancel: (request: { requestId: string; tenant: string }) => void;
  /** Which of its lines are in ClickHouse. Rejects while ClickHouse can't be read. */
  countRecorded: (batch: StoredBatch) => Promise<RecordedCounts>;
  results: Results;
  /** Rejects while the brokers don't acknowledge it. */
  save: (batch: StoredBatch, progress: BatchProgress) => Promise<void>;
  clock: () => number;
  log: Logger;
}

export interface Work {
  /** Milliseconds until the next turn; undefined: the batch is finished. Rejects on abort. */
  turn(options: { batch: () => StoredBatch; isOver: () => boolean; signal: AbortSignal }): Promise<number | undefined>;
}

/** Maximum lines begun after the first unfinished one; they are read again after a crash. */
const mostAhead = 1_024;
const lookEveryMs = 250;
const saveEveryMs = 1_000;
const failedWaitMs = 10_000;
/** Between two looks for answers that come later: twice as long after each that found none. */
const deferredMs = { least: 1_000, most: 30_000 };
/** Rows that are missing after this time were erased or refused by the table. */
const recordedWithinMs = 60_000;

export function createWork(began: StoredBatch, dependencies: WorkDependencies): Work {
  const { readLines, askLine, callerOf, room, cancel, countRecorded, results, save, clock, log } = dependencies;
  const { file, order, createdAt } = began;
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

  /** all: every line was begun and finished. */
  async function askLines(
    batch: () => StoredBatch,
    isOver: () => boolean,
    signal: AbortSignal,
  ): Promise<{ all: boolean; waitMs: number }> {
    const underWay = new Set<number>();
    let waitMs = 0;
    let wake = (): void => undefined;
    const pause = (ms: number): Promise<void> =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    let isBusy = false;
    let caller = callerOf(batch());
    const stops = (): boolean => isBusy || isExpired() || batch().cancelledAt !== undefined || isOver();
    const begin = (line: LineAt, giveBack: () => void): void => {
      underWay.add(line.line);
      void askLine(batch(), line, { caller, signal })
        .then(
          (outcome) => position.finish(line.line, outcome),
          (error: unknown) => {
            isBusy = true;
            waitMs = Math.max(waitMs, error instanceof Busy ? error.afterMs : failedWaitMs);
            if (!(error instanceof Busy) && !signal.aborted)
              log.error({ err: error, batch: batch().id, line: line.line }, "a line of a batch can't be asked");
          },
        )
        .finally(() => {
          giveBack();
          underWay.delete(line.line);
          wake();
        });
    };
    /** Undefined: this turn is over. */
    const roomFor = async (): Promise<(() => void) | undefined> => {
      for (;;) {
        signal.throwIfAborted();
        if (stops()) return undefined;
        const due = dueBy(clock(), { from: createdAt, until: order.expiresAt, total: file.lines });
        const taken = position.ahead() < mostAhead ? room.take(position.begun() < due) : undefined;
        if (taken !== undefined) return taken;
        await pause(lookEveryMs);
      }
    };

    const saver = setInterval(() => {
      caller = callerOf(batch());
      recordSoon(batch());
    }, saveEveryMs);
    let all = true;
    try {
      const start = position.next();
      for await (const line of readLines({ ...file, from: start.offset }, signal)) {
        if (!position.begin(line)) continue;
        const giveBack = await roomFor();
        if (giveBack === undefined) {
          all = false;
          break;
        }
        begin(line, giveBack);
      }
      while (underWay.size > 0) {
        if (batch().cancelledAt !== undefined || isExpired())
          for (const line of underWay) cancel({ requestId: requestIdOf(began.id, line), tenant: began.tenant });
        await pause(saveEveryMs);
        signal.throwIfAborted();
      }
    } finally {
      clearInterval(saver);
    }
    return { all: all && position.ahead() === 0, waitMs };
  }

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
          const { all, waitMs } = await askLines(batch, isOver, signal);
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
