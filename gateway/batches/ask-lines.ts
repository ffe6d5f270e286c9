// Asks the lines of a batch while there is room or they are due, until all are finished or the turn
// is over.
import type { Logger } from "pino";
import { dueBy } from "../../algorithms/queueing/off-peak-window.ts";
import type { Caller } from "../caller.ts";
import { Busy, type AskLine } from "./ask-line.ts";
import type { Position } from "./position.ts";
import type { LineAt, ReadLines } from "./read-lines.ts";
import { requestIdOf } from "./recorded.ts";
import type { StoredBatch } from "./table.ts";

export interface LineDependencies {
  readLines: ReadLines;
  askLine: AskLine;
  /** The caller that created it; null: its key was revoked or has expired. */
  callerOf: (batch: StoredBatch) => Caller | null;
  /** Room for one more line, shared by all batches of this gateway. due: whatever the load is. */
  room: { take(due: boolean): (() => void) | undefined };
  cancel: (request: { requestId: string; tenant: string }) => void;
  clock: () => number;
  log: Logger;
}

export interface Turn {
  batch: () => StoredBatch;
  isOver: () => boolean;
  signal: AbortSignal;
}

/** Maximum lines begun after the first unfinished one; they are read again after a crash. */
const mostAhead = 1_024;
const saveEveryMs = 1_000;
export const lookEveryMs = 250;
export const failedWaitMs = 10_000;

/** onProgress: called every second while lines are asked. */
export function createAskLines(
  began: StoredBatch,
  position: Position,
  dependencies: LineDependencies & { onProgress: (batch: StoredBatch) => void },
) {
  const { readLines, askLine, callerOf, room, cancel, onProgress, clock, log } = dependencies;
  const { file, order, createdAt } = began;

  /** all: every line was begun and finished. Rejects on abort and when the file can't be read. */
  return async function askLines({ batch, isOver, signal }: Turn): Promise<{ all: boolean; waitMs: number }> {
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
    const isExpired = (): boolean => clock() >= order.expiresAt;
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
      onProgress(batch());
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
  };
}
