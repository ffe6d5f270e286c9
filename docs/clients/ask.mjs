// An outside client: kafkajs and a schema registry client, nothing of Precedent's.
//   KAFKA=127.0.0.1:9092 REGISTRY=http://127.0.0.1:8080/apis/ccompat/v7 node ask.mjs "count the lines of a file"
import { randomUUID } from "node:crypto";
import { SchemaRegistry } from "@kafkajs/confluent-schema-registry";
import kafkajs from "kafkajs";

const prefix = process.env.PREFIX ?? "precedent.";
const kafka = new kafkajs.Kafka({ brokers: process.env.KAFKA.split(","), logLevel: kafkajs.logLevel.ERROR });
const registry = new SchemaRegistry({ host: process.env.REGISTRY });
const id = randomUUID();

// Listen first, from the end of the topic on, then ask. Deduplicate by request id: a plain client
// may see a record twice.
const consumer = kafka.consumer({ groupId: `ask-${id}`, maxWaitTimeInMs: 100 });
await consumer.connect();
await consumer.subscribe({ topic: `${prefix}responses`, fromBeginning: false });
const listening = new Promise((resolve) => consumer.on("consumer.fetch", resolve));
const answered = new Promise((resolve) => {
  consumer.run({
    eachMessage: async ({ message }) => {
      if (message.key?.toString() === id) resolve(await registry.decode(message.value));
    },
  });
});
await listening;

const schema = await registry.getLatestSchemaId(`${prefix}requests-value`);
const value = await registry.encode(schema, { id, messages: [{ role: "user", content: process.argv[2] }] });
const producer = kafka.producer();
await producer.connect();
await producer.send({ topic: `${prefix}requests`, messages: [{ key: id, value }] });

const response = await answered;
console.log(JSON.stringify({ status: response.status, text: response.text, arm: response.arm, error: response.error }));
await Promise.all([producer.disconnect(), consumer.disconnect()]);
