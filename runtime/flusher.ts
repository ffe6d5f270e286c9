// Sends what a sink has gathered: one flush at a time, when the batch is full or its time has come,
// and tells Kafka afterwards how far it got.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { errorOf } from "../connections/errors.ts";
import type { SinkDependencies } from "./rows.ts";

/**
 * Storing costs by the statement: rows wait so many times the last flush, a tenth of the time at
 * most (a thirtieth with many rows, for the store's merges), up to `most` times batchMs.
 */
const pacing = { flushes: 9, flushesOfMany: 29, many: 500, most: 4 };

type FlusherDependencies = Pick<
  SinkDependencies,
  "source" | "batch" | "insert" | "onStored" | "metrics" | "log" | "batchMs"
>;

export function createFlusher(dependencies: FlusherDependencies, signal: AbortSignal) {
  const { batch, insert, onStored, metrics, log, batchMs } = dependencies;
  const commit = createCommitter(dependencies.source, log);
  // A statement that hangs is left behind: it may end after its client's timeout, a minute later.
  const aborted = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  let running: Promise<void> | null = null;
  let timer: NodeJS.Timeout | null = null;
  let broken: Error | null = null;
  let tookMs = 0;
  let pauses: number = pacing.flushes;

  async function flush(): Promise<void> {
    pauses = batch.rows() < pacing.many ? pacing.flushes : pacing.flushesOfMany;
    const { before, last, positions, done } = batch.take();
    const began = performance.now();
    try {
      // Derived rows first: a position is only seen once everything of its record is there.
      await insert(before, signal);
      await insert(last, signal);
    } catch (error) {
      // insert waits for whatever may pass, so this is the end of the sink or a bug. Going on would
      // store rows behind a gap.
      broken = errorOf(error);
      if (!signal.aborted) log.error({ err: error }, "a flush failed; record stops here and must be started again");
      return;
    }
    tookMs = performance.now() - began;
    metrics.observe("insert", tookMs);
    for (const { table, lines } of [...before, ...last]) metrics.sent(table, lines.length);
    done();
    metrics.inFlight(batch.rows());
    onStored?.();
    commit(positions);
  }

  /** Never rejects. */
  function start(): Promise<void> {
    if (timer) clearTimeout(timer);
    timer = null;
    running ??= flush().finally(() => {
      running = null;
      schedule();
    });
    return running;
  }

  /** Flushes after batchMs, later where storing is slow, at once when full. */
  function schedule(): void {
    if (running !== null || broken !== null || signal.aborted) return;
    if (batch.isFull()) void start();
    else if (timer === null && !batch.isEmpty()) {
      const waitMs = Math.max(batchMs, Math.min(pauses * tookMs, pacing.most * batchMs));
      timer = setTimeout(() => void start(), waitMs);
    }
  }

  function check(): void {
    if (broken !== null) throw broken;
    signal.throwIfAborted();
  }

  return {
    schedule,
    /** Flushes or waits, `withinMs` at most. Rejects when the sink is at its end. */
    async room(withinMs: number): Promise<void> {
      check();
      // Taking the batch makes room at once, unless one is under way already.
      const flushing = start();
      if (batch.isFull()) await Promise.race([flushing, delay(withinMs, undefined, { ref: false })]);
      check();
    },
    async drain(): Promise<void> {
      check();
      while (running !== null || !batch.isEmpty()) {
        await Promise.race([start(), aborted]);
        check();
      }
    },
    /** Why nothing is sent any more; null while it works. */
    broken: (): Error | null => (signal.aborted ? null : broken),
    close(): void {
      if (timer) clearTimeout(timer);
    },
  };
}

/** Commits the newest positions, one call at a time; failures are only logged. */
function createCommitter(source: SinkDependencies["source"], log: Logger) {
  const waiting = new Map<string, { topic: string; partition: number; offset: number }>();
  let under: Promise<void> | null = null;

  return function commit(positions: readonly { topic: string; partition: number; offset: number }[]): void {
    for (const position of positions) waiting.set(`${position.topic}/${position.partition}`, position);
    under ??= (async () => {
      while (waiting.size > 0) {
        const next = [...waiting.values()];
        waiting.clear();
        await source.commit(next).catch((error: unknown) => log.debug({ err: error }, "lag is not up to date"));
      }
    })().finally(() => (under = null));
  };
}
