// The body of Produce, version 3 to 7 (record-batch.ts says why it is not kafkajs').
import { sizedBatch, transactional, writeBatch, type BatchProducer, type ProducedBatch } from "./record-batch.ts";

export interface ProduceBody {
  transactionalId?: string | null | undefined;
  acks: number;
  timeout: number;
  /** kafkajs' own Long has a text, too. */
  producerId?: string | number | bigint | undefined;
  producerEpoch?: number | undefined;
  topicData: readonly {
    topic: string;
    partitions: readonly ProducedBatch[];
  }[];
}

/** Without an id (null, or kafkajs' undefined) a batch belongs to no transaction. */
export const batchProducer = ({ transactionalId, producerId, producerEpoch }: ProduceBody): BatchProducer => ({
  id: BigInt(String(producerId ?? -1)),
  epoch: producerEpoch ?? 0,
  attributes: (transactionalId ?? "") === "" ? 0 : transactional,
});

/** now: the time of messages that bring none, milliseconds since the epoch. */
export function encodeProduce(body: ProduceBody, now: number): Buffer {
  const { transactionalId = null, acks, timeout } = body;
  const id = transactionalId === null ? undefined : Buffer.from(transactionalId);
  let size = 2 + (id?.length ?? 0) + 2 + 4 + 4;
  const topics = body.topicData.map(({ topic, partitions }) => {
    const name = Buffer.from(topic);
    const batches = partitions.map((one) => sizedBatch(one, now));
    size += 2 + name.length + 4 + batches.reduce((sum, batch) => sum + 8 + batch.size, 0);
    return { name, batches };
  });

  // Every byte of it is written below.
  const bytes = Buffer.allocUnsafe(size);
  let at = bytes.writeInt16BE(id?.length ?? -1, 0);
  if (id !== undefined) at += id.copy(bytes, at);
  at = bytes.writeInt32BE(timeout, bytes.writeInt16BE(acks, at));
  at = bytes.writeInt32BE(topics.length, at);
  const producer = batchProducer(body);
  for (const { name, batches } of topics) {
    at = bytes.writeInt16BE(name.length, at);
    at += name.copy(bytes, at);
    at = bytes.writeInt32BE(batches.length, at);
    for (const batch of batches) {
      at = bytes.writeInt32BE(batch.size, bytes.writeInt32BE(batch.partition, at));
      at = writeBatch(bytes, at, batch, producer);
    }
  }
  return bytes;
}
