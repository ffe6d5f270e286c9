// Runs a stage that writes rows to a store and keeps its positions there: effectively once, without
// Kafka transactions. On every assignment it goes on after the highest offset that the store has;
// records become rows, rows are gathered and inserted, one flush at a time and in order, so that
// what the store has of a partition is always whole up to its highest offset. Rows that arrive
// twice are the store's matter (identity). While the store is away a flush waits, then a batch
// fills, then onRecords does not resolve: memory stays bounded and nothing is skipped. Knows no
// operator: decode, batch and insert are passed in.
import type { RawRecord } from "../connections/kafka/port.ts";
import { createFlusher } from "./flusher.ts";
import type { SinkDependencies } from "./rows.ts";

export interface Sink {
  /** Resolves when the group was joined. */
  run(): Promise<void>;
  /** Leaves the group, then stores what can be stored in time. */
  stop(): Promise<void>;
  /** Why it stores nothing any more, and what to do; undefined while it works. */
  problem(): string | undefined;
}

/** How often a wait for room looks whether its partition is still ours, milliseconds. */
const stalePollMs = 200;

export function createSink(dependencies: SinkDependencies): Sink {
  const { source, batch, metrics } = dependencies;
  const stopping = new AbortController();
  const flusher = createFlusher(dependencies, stopping.signal);

  async function onRecords(
    topic: string,
    partition: number,
    records: readonly RawRecord[],
    isStale: () => boolean,
  ): Promise<void> {
    const gone = (): boolean => isStale() || stopping.signal.aborted;
    for (const record of records) {
      const from = { topic, partition, record };
      const decoded = await dependencies.decode(from, stopping.signal);
      if (!decoded.ok) await dependencies.undecodable(from, decoded.code, decoded.reason);
      while (batch.isFull() && !gone()) await flusher.room(stalePollMs);
      // Never before the wait: the rows of a partition that was lost meanwhile would stand behind a
      // gap.
      if (gone()) return;
      metrics.received(1);
      if (decoded.ok) batch.add(from, decoded.tables);
      else {
        metrics.dropped(decoded.code);
        batch.skip(from);
      }
    }
    metrics.inFlight(batch.rows());
    flusher.schedule();
  }

  return {
    run: () =>
      source.run({
        async onAssigned(partitions) {
          // What is gathered goes first, or it would be read again; the new owner of a lost
          // partition sees our rows, not a gap.
          await flusher.drain();
          const stored = await dependencies.storedOffsets(partitions);
          return stored.map(({ offset, ...rest }) => ({
            ...rest,
            offset: offset === undefined ? undefined : offset + 1,
          }));
        },
        onRecords,
        onLag: (topic, partition, records) => metrics.lag(topic, partition, records),
      }),
    problem() {
      const broken = flusher.broken();
      if (broken === null) return undefined;
      return `a flush failed and nothing is stored since (${broken.message}): start this process again, nothing is lost`;
    },
    async stop() {
      const limit = setTimeout(() => stopping.abort(), dependencies.drainMs);
      try {
        await source.stop();
        await flusher.drain();
      } catch (error) {
        if (!stopping.signal.aborted) throw error;
      } finally {
        clearTimeout(limit);
        stopping.abort();
        flusher.close();
      }
    },
  };
}
