// Sends record batches that the test has encoded itself, byte for byte.
import type { Kafka as KafkaClient } from "kafkajs";
import { written, type Protocol } from "../../connections/kafka/protocol/codec.ts";
import { createWire } from "../../connections/kafka/wire.ts";

interface Produced {
  errorCode: number;
  baseOffset: number;
}

/** Produce 7 for one partition. */
const produce = (topic: string, partition: number, batch: Buffer): Protocol<Produced> => ({
  request: {
    ...{ apiKey: 0, apiVersion: 7, apiName: "Produce" },
    encode() {
      const name = Buffer.from(topic);
      const head = Buffer.alloc(2 + 2 + 4 + 4 + 2);
      head.writeInt16BE(-1, 0); // no transaction
      head.writeInt16BE(-1, 2); // all in-sync replicas
      head.writeInt32BE(30_000, 4);
      head.writeInt32BE(1, 8);
      head.writeInt16BE(name.length, 12);
      const partitions = Buffer.alloc(12);
      partitions.writeInt32BE(1, 0);
      partitions.writeInt32BE(partition, 4);
      partitions.writeInt32BE(batch.length, 8);
      return Promise.resolve(written(Buffer.concat([head, name, partitions, batch])));
    },
  },
  response: {
    decode(raw) {
      // Topics, the name, partitions, the partition.
      const at = 4 + 2 + raw.readInt16BE(4) + 4 + 4;
      return Promise.resolve({
        errorCode: raw.readInt16BE(at),
        baseOffset: Number(raw.readBigInt64BE(at + 2)),
      });
    },
    parse: (answer) => Promise.resolve(answer),
  },
  logResponseError: false,
});

export function createRawProducer(client: KafkaClient) {
  const wire = createWire(client);
  return {
    /** The first offset; throws what the broker refuses. */
    async send(topic: string, partition: number, batch: Buffer): Promise<number> {
      const [leader] = (await wire.leaders([topic])).filter((one) => one.partition === partition);
      const { errorCode, baseOffset } = await wire.send(leader?.leader ?? -1, produce(topic, partition, batch));
      if (errorCode !== 0) throw new Error(`the broker refuses the batch: error ${errorCode}`);
      return baseOffset;
    },
    close: () => wire.close(),
  };
}
