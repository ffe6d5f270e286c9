// Makes hanging transactions without a kill: records and offsets are written that were never added
// at the coordinator. A broker allows this while it does not verify, with a producer of the first
// version of transactions (with the second, a leader adds partitions itself). A broker that loses
// markers (Kafka 4.3.0 and 4.3.1, KAFKA-20734) leaves the same behind.
import { createRequire } from "node:module";
import type { Kafka as KafkaClient } from "kafkajs";
import { ConfigResourceTypes } from "../../connections/kafka/kafkajs.ts";
import { setTransactionVersion } from "./transaction-version.ts";

const { prototype } = createRequire(import.meta.url)("kafkajs/src/broker") as {
  prototype: { addOffsetsToTxn(): Promise<unknown>; addPartitionsToTxn(): Promise<unknown> };
};

/** Whether the broker verifies what producers claim; undefined: as it is set up. */
export async function verification(client: KafkaClient, value?: "false"): Promise<void> {
  const admin = client.admin();
  await admin.connect();
  const configEntries = value === undefined ? [] : [{ name: "transaction.partition.verification.enable", value }];
  await admin.alterConfigs({
    validateOnly: false,
    resources: [{ type: ConfigResourceTypes.BROKER, name: "1", configEntries }],
  });
  await admin.disconnect();
}

async function untold<T>(work: () => Promise<T>): Promise<T> {
  const { addOffsetsToTxn, addPartitionsToTxn } = prototype;
  Object.assign(prototype, { addOffsetsToTxn: () => Promise.resolve(), addPartitionsToTxn: () => Promise.resolve() });
  try {
    return await work();
  } finally {
    Object.assign(prototype, { addOffsetsToTxn, addPartitionsToTxn });
  }
}

export interface Left {
  client: KafkaClient;
  /** Transactional id. */
  id: string;
  group: string;
  /** Topic whose partition 0 the group commits at offset 1. */
  input: string;
  /** Gets a record "hung", in partition 0. */
  output: string;
  /**
   * A topic that is added at the coordinator, and the outcome there; absent: the coordinator ends
   * nothing.
   */
  reported?: { topic: string; outcome: "commit" | "abort" };
}

/**
 * A producer that goes away for good, and leaves a transaction in the group's offsets and in the
 * output.
 */
export async function leaveHanging({ client, id, group, input, output, reported }: Left): Promise<void> {
  const producer = client.producer({ transactionalId: id, idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  await setTransactionVersion(client, 1);
  const transaction = await producer.transaction();
  await setTransactionVersion(client, 2);
  if (reported !== undefined)
    await transaction.send({ topic: reported.topic, messages: [{ key: "told", value: "told" }] });
  await untold(async () => {
    const topics = [{ topic: input, partitions: [{ partition: 0, offset: "1" }] }];
    await transaction.sendOffsets({ consumerGroupId: group, topics });
    await transaction.send({ topic: output, messages: [{ key: "hung", value: "hung", partition: 0 }] });
  });
  if (reported !== undefined) await transaction[reported.outcome]();
  await producer.disconnect();
}
