// What kafkajs does without us: consume a batch, send it on, send its offset, commit. As published,
// with none of our patches; its retries and sockets are set as ours are, since its defaults would
// wait 300 ms for every transaction. Started by systems.ts.
import { once } from "node:events";
import net from "node:net";
import { Kafka, logLevel, Partitioners } from "kafkajs";

const [brokers = "", group = "", input = "", output = ""] = process.argv.slice(2);
const kafka = new Kafka({
  clientId: "plain",
  brokers: brokers.split(","),
  logLevel: logLevel.ERROR,
  retry: { initialRetryTime: 2, maxRetryTime: 100, factor: 0.2, multiplier: 1.5, retries: 60 },
  socketFactory: ({ host, port, onConnect }) => net.connect({ host, port }, onConnect).setNoDelay(true),
});
const producer = kafka.producer({
  transactionalId: `${group}.1`,
  idempotent: true,
  maxInFlightRequests: 1,
  createPartitioner: Partitioners.DefaultPartitioner,
});
const consumer = kafka.consumer({ groupId: group, maxWaitTimeInMs: 100, maxBytesPerPartition: 512 * 1024 });
await Promise.all([producer.connect(), consumer.connect()]);
await consumer.subscribe({ topics: [input], fromBeginning: true });
consumer.on(consumer.events.GROUP_JOIN, () => void process.stderr.write('{"msg":"running"}\n'));
consumer.on(consumer.events.CRASH, ({ payload }) => {
  if (!payload.restart) process.exit(1);
});
await consumer.run({
  autoCommit: false,
  eachBatch: async ({ batch }) => {
    const { topic, partition, messages } = batch;
    if (messages.length === 0) return;
    const transaction = await producer.transaction();
    try {
      await transaction.send({ topic: output, messages: messages.map(({ key, value }) => ({ key, value })) });
      const offset = String(BigInt(batch.lastOffset()) + 1n);
      await transaction.sendOffsets({
        consumerGroupId: group,
        topics: [{ topic, partitions: [{ partition, offset }] }],
      });
      await transaction.commit();
    } catch (error) {
      await transaction.abort();
      throw error;
    }
  },
});

const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => stopping.abort());
await once(stopping.signal, "abort");
await consumer.disconnect();
await producer.disconnect();
process.exit(0);
