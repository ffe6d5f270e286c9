// Producers of few messages: one for an act of a person, one that may never send anything.
import type { KafkaProducers, OutgoingMessage, PlainProducer } from "../connections/kafka/port.ts";

/** Resolves when all in-sync replicas have the messages; rejects as PlainProducer.send does. */
export async function sendOnce<T extends string>(
  kafka: Pick<KafkaProducers<T>, "plainProducer">,
  messages: readonly OutgoingMessage<T>[],
): Promise<void> {
  const producer = kafka.plainProducer();
  await producer.send(messages).finally(() => producer.close());
}

/** A producer that is opened when something is first sent. */
export function lazyProducer<T extends string>(kafka: Pick<KafkaProducers<T>, "plainProducer">): PlainProducer<T> {
  let producer: PlainProducer<T> | undefined;
  return {
    send: (messages) => (producer ??= kafka.plainProducer()).send(messages),
    close: async () => producer?.close(),
  };
}
