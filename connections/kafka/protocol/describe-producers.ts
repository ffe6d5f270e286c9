// DescribeProducers v0 (Kafka 2.8): the producers that a partition knows, and where each one's open
// transaction begins. Only the partition's leader answers. Needs Read on the topic.
import type { DecoderLike } from "../kafkajs-internals.ts";
import { entries, entry, flexible, int32s, type Protocol } from "./codec.ts";

export interface ProducerState {
  /** A 64-bit number. */
  producerId: string;
  epoch: number;
  /** Time of its last batch, milliseconds since the epoch; -1: none. */
  lastTimestamp: number;
  /** Epoch of the coordinator that wrote the last marker; -1: none. */
  coordinatorEpoch: number;
  /** First offset of the transaction that is open here; -1 where none is. */
  openSince: number;
}

export interface PartitionProducers {
  topic: string;
  partition: number;
  errorCode: number;
  producers: ProducerState[];
}

export const describeProducers = (
  topics: readonly { topic: string; partitions: readonly number[] }[],
): Protocol<PartitionProducers[]> =>
  flexible(
    { apiKey: 61, apiVersion: 0, apiName: "DescribeProducers" },
    (body) =>
      body.writeUVarIntArray(
        topics.map(({ topic, partitions }) =>
          entry((e) => e.writeUVarIntString(topic).writeUVarIntArray(int32s(partitions))),
        ),
      ),
    (body) => {
      body.readInt32(); // throttle time
      return entries(body, (t) => {
        const topic = t.readUVarIntString() ?? "";
        return entries(t, (p) => {
          const [partition, errorCode] = [p.readInt32(), p.readInt16()];
          p.readUVarIntString(); // its message
          const producers = entries(p, producerState);
          return { topic, partition, errorCode, producers };
        });
      }).flat();
    },
  );

function producerState(decoder: DecoderLike): ProducerState {
  const producerId = decoder.readInt64().toString();
  const epoch = decoder.readInt32();
  decoder.readInt32(); // last sequence number
  const lastTimestamp = Number(decoder.readInt64().toString());
  const coordinatorEpoch = decoder.readInt32();
  return { producerId, epoch, lastTimestamp, coordinatorEpoch, openSince: Number(decoder.readInt64().toString()) };
}
