// Curate's side of examples in Milvus: applies the topic `examples` to the collection, in the order
// of each partition and idempotently, and saves its progress (rows.ts). A collection that it can't
// continue is dropped and refilled.
import type { Logger } from "pino";
import type { Embedder } from "../../../connections/embedder/port.ts";
import { vectorsOf } from "../vectors-of.ts";
import type { PartitionSpan } from "../../../connections/kafka/port.ts";
import type { MilvusCollection, MilvusRow } from "../../../connections/milvus/port.ts";
import type { Example } from "../../../schemas/types.ts";
import { accept } from "../accept.ts";
import { keyOf, rowOf, stateKeys, staleMs, stateOf, stateRow, type TableState } from "./rows.ts";

export interface SinkOptions {
  collection: MilvusCollection;
  embedder: Pick<Embedder, "model" | "dimension" | "embedAll">;
  topic: Pick<TableState, "topic" | "cluster" | "topicId">;
  spans: readonly PartitionSpan[];
  clock: () => number;
  log: Pick<Logger, "info" | "warn">;
}

export interface RowChange {
  /** tenant/domain/id */
  key: string;
  value: Example | null;
}

/** The caller serialises calls and repeats those that reject. */
export type Sink = Awaited<ReturnType<typeof openSink>>;

/** Longer than a search of Milvus may be behind (bounded staleness), milliseconds. */
const settledMs = 60_000;
const strong = { timeoutMs: 10_000, strong: true };

/** Rejects when the collection is of another topic or cluster, and as the collection does. */
export async function openSink(options: SinkOptions) {
  const { collection, embedder, topic, spans, clock, log } = options;
  const state = await begin();
  /** Positions that become settled; index: partition. */
  const before = state.partitions.map(({ next }) => ({ next, at: clock() }));

  async function begin(): Promise<TableState> {
    const { collection: found } = await collection.facts();
    if (found !== null) {
      await collection.create(found.dimension); // loaded again
      const known = stateOf(await collection.read(stateKeys, strong));
      const reason = known === null ? "it does not say what it holds" : reasonAgainst(known);
      if (known !== null && reason === null) {
        for (const { partition, beginning } of spans) known.partitions[partition] ??= startingAt(beginning);
        return known;
      }
      log.warn({ reason }, "the examples in Milvus are dropped and rewritten from the topic");
      await collection.drop();
    }
    await collection.create(embedder.dimension);
    const partitions: TableState["partitions"] = [];
    for (const { partition, beginning } of spans) partitions[partition] = startingAt(beginning);
    const { model, dimension } = embedder;
    return { ...topic, model, dimension, generation: clock(), at: clock(), partitions };
  }

  function reasonAgainst(known: TableState): string | null {
    if (known.topic !== topic.topic || known.cluster !== topic.cluster)
      throw new Error(
        `the Milvus collection holds the examples of the topic ${known.topic} of the Kafka cluster ${known.cluster}: drop it, or give selection.milvus.collection another name`,
      );
    if (known.topicId !== topic.topicId) return "the topic was created again";
    if (known.model !== embedder.model || known.dimension !== embedder.dimension)
      return `its vectors are of ${known.model}, those of requests of ${embedder.model}`;
    if (clock() - known.at > staleMs) return "it was last kept more than a day ago, and tombstones are kept for a day";
    const lost = spans.find(({ partition, beginning, end }) => {
      const next = known.partitions[partition]?.next ?? beginning;
      return next < beginning || next > end;
    });
    return lost === undefined ? null : `its position in partition ${lost.partition} is not on the topic`;
  }

  /** By key, the last change of each; null: no row. */
  async function rowsOf(partition: number, changes: readonly RowChange[]): Promise<Map<string, MilvusRow | null>> {
    const rows = new Map<string, MilvusRow | null>();
    const unlike: { key: string; example: Example }[] = [];
    const { generation } = state;
    const put = (key: string, example: Example, vector: Float32Array): void => {
      const row = rowOf(example, vector, { key, generation });
      if ("reason" in row) leaveOut(example, row.reason);
      rows.set(key, "reason" in row ? null : row);
    };
    for (const [recordKey, value] of new Map(changes.map((change) => [change.key, change.value]))) {
      const key = keyOf(partition, recordKey);
      rows.set(key, null);
      if (value === null) continue;
      const accepted = accept(value, embedder);
      if ("reason" in accepted) leaveOut(value, accepted.reason);
      else if (accepted.vector === null) unlike.push({ key, example: value });
      else put(key, value, accepted.vector);
    }
    const vectors = await vectorsOf(
      embedder,
      unlike.map(({ example }) => example.request),
    );
    unlike.forEach(({ key, example }, i) => {
      const vector = vectors[i];
      if (vector) put(key, example, vector);
      else leaveOut(example, `${embedder.model} gives no vector for its text`);
    });
    return rows;
  }
  const leaveOut = ({ id }: Example, reason: string): void =>
    log.warn({ example: id, reason }, "an example is not written to Milvus");

  return {
    /** Offset from which a partition is to be read. */
    position: (partition: number): number => state.partitions[partition]?.next ?? 0,
    generation: (): number => state.generation,
    async apply(partition: number, changes: readonly RowChange[], next: number): Promise<void> {
      const rows = [...(await rowsOf(partition, changes))];
      await collection.upsert(rows.flatMap(([, row]) => (row === null ? [] : [row])));
      await collection.remove(rows.flatMap(([key, row]) => (row === null ? [key] : [])));
      const own = state.partitions[partition];
      if (own !== undefined) own.next = next;
    },
    /** It was read to its end once. */
    filled(partition: number): void {
      const own = state.partitions[partition];
      if (own !== undefined) own.filled = true;
    },
    /** Writes the progress into the collection. */
    async save(): Promise<void> {
      const now = clock();
      state.partitions.forEach((own, partition) => {
        const then = (before[partition] ??= { next: own.next, at: now });
        if (now - then.at < settledMs) return;
        own.settled = then.next;
        before[partition] = { next: own.next, at: now };
      });
      state.at = now;
      await collection.upsert([stateRow(state)]);
    },
    /** Makes the next start refill the collection. */
    async forget(): Promise<void> {
      state.at = 0;
      await collection.upsert([stateRow(state)]);
    },
  };
}

const startingAt = (beginning: number): TableState["partitions"][number] => ({
  ...{ next: beginning, settled: beginning, filled: false },
});
