// Produce, version 12, which kafkajs does not have: flexible encoding, and of a transactional
// producer the leader tells the coordinator itself that the partition belongs to the transaction
// (KIP-890). Version 13 names topics by id.
import { internals } from "../kafkajs-internals.ts";
import type { PartitionResponse, ProduceResponse } from "../unacknowledged.ts";
import { entries, skipTags, written, type Protocol, type Throttled } from "./codec.ts";
import { batchProducer, type ProduceBody } from "./produce.ts";
import { sizedBatch, writeBatch, unsignedSize, writeUnsigned } from "./record-batch.ts";

/** With the tagged fields of the header: none. now: as in produce.ts. */
export function encodeFlexibleProduce(body: ProduceBody, now: number): Buffer {
  const { transactionalId = null, acks, timeout, topicData } = body;
  const id = transactionalId === null ? undefined : Buffer.from(transactionalId);
  // Compact lengths are stored plus one: 0 stands for null.
  let size = 1 + unsignedSize(id === undefined ? 0 : id.length + 1) + (id?.length ?? 0) + 2 + 4;
  size += unsignedSize(topicData.length + 1) + 1;
  const topics = topicData.map(({ topic, partitions }) => {
    const name = Buffer.from(topic);
    const batches = partitions.map((one) => sizedBatch(one, now));
    size += unsignedSize(name.length + 1) + name.length + unsignedSize(batches.length + 1) + 1;
    for (const batch of batches) size += 4 + unsignedSize(batch.size + 1) + batch.size + 1;
    return { name, batches };
  });

  // Every byte of it is written below.
  const bytes = Buffer.allocUnsafe(size);
  let at = bytes.writeUInt8(0, 0); // no tagged fields in the header
  at = writeUnsigned(bytes, at, id === undefined ? 0 : id.length + 1);
  if (id !== undefined) at += id.copy(bytes, at);
  at = bytes.writeInt32BE(timeout, bytes.writeInt16BE(acks, at));
  at = writeUnsigned(bytes, at, topics.length + 1);
  const producer = batchProducer(body);
  for (const { name, batches } of topics) {
    at = writeUnsigned(bytes, at, name.length + 1);
    at += name.copy(bytes, at);
    at = writeUnsigned(bytes, at, batches.length + 1);
    for (const batch of batches) {
      at = writeUnsigned(bytes, bytes.writeInt32BE(batch.partition, at), batch.size + 1);
      at = bytes.writeUInt8(0, writeBatch(bytes, at, batch, producer));
    }
    at = bytes.writeUInt8(0, at);
  }
  bytes.writeUInt8(0, at);
  return bytes;
}

/** The broker's words for a refusal are left out: its code says it. */
function decode(raw: Buffer): ProduceResponse & Throttled {
  const decoder = new internals.Decoder(raw);
  skipTags(decoder);
  const topics = entries(decoder, (topic) => ({
    topicName: topic.readUVarIntString() ?? "",
    partitions: entries(topic, (d): PartitionResponse => {
      const [partition, errorCode, baseOffset] = [d.readInt32(), d.readInt16(), d.readInt64().toString()];
      d.forward(16); // when it was appended, where the log starts
      entries(d, (refused) => {
        refused.readInt32();
        refused.readUVarIntString();
      });
      d.readUVarIntString();
      return { partition, errorCode, baseOffset };
    }),
  }));
  return { topics, clientSideThrottleTime: decoder.readInt32() };
}

export const flexibleProduce = (body: ProduceBody): Protocol<ProduceResponse & Throttled> => ({
  request: {
    ...{ apiKey: 0, apiVersion: 12, apiName: "Produce" },
    encode: () => Promise.resolve(written(encodeFlexibleProduce(body, Date.now()))),
  },
  // Who sends looks at every partition's code.
  response: { decode: (raw) => Promise.resolve(decode(raw)), parse: (answer) => Promise.resolve(answer) },
  logResponseError: false,
});
