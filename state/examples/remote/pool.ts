// Examples in Milvus, as plan reads them: bounded searches behind a cache of popular examples. It
// also follows the end of the topic `examples`, so that withdrawn examples are hidden at once,
// however far the collection lags. While the collection can't be searched, nearest() rejects with
// SimilarityDegraded, which has the popular examples.
import type { Logger } from "pino";
import { messageOf } from "../../../connections/errors.ts";
import { MilvusError, type MilvusReads } from "../../../connections/milvus/port.ts";
import type { Embedder } from "../../../connections/embedder/port.ts";
import type { ExampleSearch } from "../port.ts";
import { SimilarityDegraded } from "./degraded.ts";
import { createPopular } from "./popular.ts";
import { createSearch } from "./read.ts";
import { keyOf, stateKeys, staleMs, stateOf, type TableState } from "./rows.ts";
import { createWithdrawn } from "./withdrawn.ts";

/** Follows partitions of the topic from given offsets, each at most once. */
export interface TopicEnd {
  /** Resolves when the partition was read to its present end. */
  follow(partition: number, from: number): Promise<void>;
}

export interface RemotePoolOptions {
  collection: MilvusReads;
  embedder: Pick<Embedder, "model" | "dimension">;
  topic: Pick<TableState, "topic" | "cluster" | "topicId">;
  clock: () => number;
  log: Pick<Logger, "info" | "warn">;
  /** Milliseconds that a search may take. */
  limitMs?: number;
}

export interface RemotePool extends ExampleSearch {
  /** Records of the topic, in order; isGone: a tombstone. */
  onRecord(partition: number, offset: number, recordKey: string, isGone: boolean): void;
  /** Reads the collection's progress; called every few seconds. Never rejects. */
  look(end: TopicEnd): Promise<void>;
  isReady(): boolean;
  /** Resolves when the collection can be searched for the first time. */
  ready: Promise<void>;
}

/** Longest wait of a request for examples, milliseconds. */
const searchMs = 200;
const lookMs = 2_000;
/** After this many failures in a row no search is tried for pauseMs. */
const failuresAllowed = 3;
const pauseMs = 1_000;

export function createRemotePool(options: RemotePoolOptions): RemotePool {
  const { collection, embedder, topic, clock, log, limitMs = searchMs } = options;
  const popular = createPopular();
  const withdrawn = createWithdrawn();
  const search = createSearch({ collection, popular, withdrawn, limitMs, strong: false });
  const followed = new Map<number, { isRead: boolean }>();
  let state: TableState | null = null;
  let reason: string | null = "its state has not been read yet";
  let rows = 0;
  let failures = 0;
  let retryAt = -Infinity;

  const isOurs = (found: TableState): boolean =>
    found.topic === topic.topic && found.cluster === topic.cluster && found.topicId === topic.topicId;

  /** Why the collection can't be searched now; null: it can. */
  function reasonAgainst(): string | null {
    if (state === null) return reason;
    const { model, at, partitions } = state;
    if (!isOurs(state)) return `it belongs to the topic ${state.topic} of the cluster ${state.cluster}`;
    if (model !== embedder.model || state.dimension !== embedder.dimension)
      return `its vectors are of ${model} (${state.dimension} numbers)`;
    if (clock() - at > staleMs) return "no curate process has updated it for a day";
    if (partitions.some(({ filled }) => !filled)) return "it is being filled";
    if (partitions.some((_, partition) => followed.get(partition)?.isRead !== true))
      return "the end of the topic has not been read yet";
    return withdrawn.isComplete() ? null : "it lacks more removals than this process can remember";
  }
  let resolveReady: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => (resolveReady = resolve));
  let shown: string | null | undefined;
  const tell = (): void => {
    const now = reasonAgainst();
    if (now === shown) return;
    shown = now;
    if (now === null) {
      log.info({ examples: rows }, "examples are found in Milvus");
      resolveReady();
    } else log.warn({ reason: now }, "Milvus can't be searched: only popular examples are shown");
  };

  return {
    ready,
    isReady: () => reasonAgainst() === null,
    onRecord(partition, offset, recordKey, isGone) {
      const key = keyOf(partition, recordKey);
      withdrawn.note(partition, offset, key, isGone);
      popular.forget(key);
    },
    async look(end) {
      try {
        const { collection: facts } = await collection.facts();
        const found =
          facts === null
            ? null
            : stateOf(await collection.read(stateKeys, { timeoutMs: Math.max(lookMs, limitMs), strong: false }));
        state = found;
        if (found === null) reason = "no curate process has filled it";
        rows = Math.max(0, (facts?.rows ?? 0) - stateKeys.length);
      } catch (error) {
        // The known state stays valid: an older one only hides more.
        reason = messageOf(error);
      }
      if (state !== null && isOurs(state)) {
        withdrawn.settle(state.partitions.map(({ settled }) => settled));
        for (const [partition, { settled }] of state.partitions.entries()) {
          if (followed.has(partition)) continue;
          const entry = { isRead: false };
          followed.set(partition, entry);
          end.follow(partition, settled).then(
            () => {
              entry.isRead = true;
              tell();
            },
            () => followed.delete(partition),
          );
        }
      }
      tell();
    },
    async nearest(domain, vector, k, now) {
      if (k === 0) return [];
      const degraded = (why: string): SimilarityDegraded =>
        new SimilarityDegraded(`Milvus can't be searched: ${why}`, popular.nearest(domain, vector, k, now));
      const against = reasonAgainst();
      if (against !== null || state === null) throw degraded(against ?? "its state is not known");
      if (failures >= failuresAllowed) {
        if (clock() < retryAt) throw degraded("it failed just now");
        // One request tries; the others do not wait.
        retryAt = clock() + pauseMs;
      }
      try {
        const found = await search(domain, vector, k, { generation: state.generation, now });
        failures = 0;
        // A removal for which there was no room may have come during the call.
        const since = reasonAgainst();
        if (since !== null) throw degraded(since);
        return found;
      } catch (error) {
        if (!(error instanceof MilvusError)) throw error;
        if (++failures >= failuresAllowed) retryAt = clock() + pauseMs;
        throw degraded(error.message);
      }
    },
    get: popular.find,
    // Asking Milvus would take too long for a request.
    holds: () => true,
    size: () => rows,
    figures: () => ({
      ...{ examples: popular.size(), domains: 0, pending: 0, damaged: 0, rebuilds: 0, indexes: [] },
    }),
    close: () => Promise.resolve(),
  };
}
