// Sends a few messages by a producer of their own, for acts of people and commands.
import type { KafkaProducers, OutgoingMessage } from "../connections/kafka/port.ts";

/** Resolves when all in-sync replicas have the messages; rejects as PlainProducer.send does. */
export async function sendOnce<T extends string>(
  kafka: Pick<KafkaProducers<T>, "plainProducer">,
  messages: readonly OutgoingMessage<T>[],
): Promise<void> {
  const producer = kafka.plainProducer();
  await producer.send(messages).finally(() => producer.close());
}
