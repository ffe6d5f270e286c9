// kafkajs as it is published, in a process of its own so that our patches can't reach it: prints
// the keys that its read-committed consumer delivers of a topic's first partition up to an offset.
// node unpatched-reader.ts BROKER TOPIC END
import { Kafka, logLevel } from "kafkajs";

const [, , broker = "", topic = "", end = "0"] = process.argv;
const kafka = new Kafka({ clientId: "unpatched", brokers: [broker], logLevel: logLevel.NOTHING });
const consumer = kafka.consumer({ groupId: `${topic}.unpatched`, maxWaitTimeInMs: 100 });
const keys: string[] = [];
consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
  if (Number(payload.lastOffset) + 1 < Number(end)) return;
  process.stdout.write(JSON.stringify(keys), () => process.exit(0));
});
await consumer.connect();
await consumer.subscribe({ topic, fromBeginning: true });
await consumer.run({
  eachBatch: ({ batch }) => {
    for (const { key } of batch.messages) keys.push(key?.toString() ?? "");
    return Promise.resolve();
  },
});
