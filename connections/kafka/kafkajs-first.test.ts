// kafkajs was loaded elsewhere before us: both copies work, and replaced modules are patched only
// in ours.
import { createRequire } from "node:module";
import type * as Kafkajs from "kafkajs";
import { expect, test } from "vitest";

const require = createRequire(import.meta.url);
const load = (name: string): unknown => require(`kafkajs/src/${name}`);

test("kafkajs that was loaded before stays as it was, and ours has every patch", async () => {
  const theirs = require("kafkajs") as typeof Kafkajs;
  const before = {
    send: load("producer/sendMessages"),
    filter: load("consumer/filterAbortedMessages"),
    batch: load("consumer/batch"),
  };
  const shared = load("cluster");
  const { Kafka } = await import("./kafkajs.ts");
  const { withoutAborted } = await import("./kafkajs-aborted.ts");
  const { createSend } = await import("./kafkajs-send.ts");

  expect(Kafka).not.toBe(theirs.Kafka);
  expect([load("producer/sendMessages"), load("consumer/filterAbortedMessages")]).toEqual([createSend, withoutAborted]);
  expect(before.send).not.toBe(createSend);
  // What is built on a replaced module is ours; what is not, errors and connections among it, there
  // is once.
  expect(load("consumer/batch")).not.toBe(before.batch);
  expect(load("cluster")).toBe(shared);
  for (const client of [new Kafka({ brokers: ["localhost:1"] }), new theirs.Kafka({ brokers: ["localhost:1"] })])
    expect(client.producer({ createPartitioner: theirs.Partitioners.DefaultPartitioner })).toHaveProperty("send");
});

test("a batch of ours leaves out records of overlapping aborted transactions", () => {
  interface Batch {
    new (topic: string, offset: string, data: object): { messages: { offset: string }[] };
  }
  const message = (offset: number, producer: number, control?: string) => ({
    offset: String(offset),
    key: control === undefined ? Buffer.from("k") : Buffer.from(control),
    isControlRecord: control !== undefined,
    batchContext: { producerId: String(producer), inTransaction: true },
  });
  const abort = "\0\0\0\0";
  const data = () => ({
    partition: 0,
    highWatermark: "5",
    messages: [message(0, 2), message(1, 1), message(2, 1, abort), message(3, 2), message(4, 2, abort)],
    // In the order of their ends, as brokers list them.
    abortedTransactions: [
      { producerId: "1", firstOffset: "1" },
      { producerId: "2", firstOffset: "0" },
    ],
  });
  const Ours = load("consumer/batch") as Batch;
  expect(new Ours("t", "0", data()).messages).toEqual([]);
});
