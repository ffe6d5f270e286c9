// Runs a stage that writes rows and keeps its positions in the store: effectively once. It goes on
// after the store's highest offset; batches are inserted in order, so every prefix is whole. While
// the store is away memory stays bounded and nothing is skipped.
import type { RawRecord } from "../connections/kafka/port.ts";
import { createFlusher } from "./flusher.ts";
import type { DecodedRows, SinkDependencies } from "./rows.ts";

/** How often a wait for room looks whether its partition is still ours, milliseconds. */
const stalePollMs = 200;

export function createSink(dependencies: SinkDependencies) {
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
      const { unreadable } = record;
      const decoded: DecodedRows =
        unreadable === undefined
          ? await dependencies.decode(from, stopping.signal)
          : { ok: false, code: unreadable.code, reason: unreadable.reason };
      if (!decoded.ok)
        await dependencies.undecodable({ ...from, tenant: decoded.tenant }, decoded.code, decoded.reason);
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
    /** Resolves when the group was joined. */
    run: (): Promise<void> =>
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
        onHighWatermark: (topic, partition, offset) => dependencies.onHighWatermark?.(topic, partition, offset),
      }),
    /** Why it stores nothing any more, and what to do; undefined while it works. */
    problem(): string | undefined {
      const broken = flusher.broken();
      if (broken === null) return undefined;
      return `a flush failed and nothing is stored since (${broken.message}): start this process again, nothing is lost`;
    },
    /** Leaves the group, then stores what can be stored in time. */
    async stop(): Promise<void> {
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
