// Changed examples as messages, for one transaction: a state to the partition of its key, a removal
// to all partitions, since the key was in another one before partitions were added.
import type { OutgoingMessage } from "../../connections/kafka/port.ts";
import type { ExampleChange } from "../../state/examples/port.ts";
import type { Topic } from "../../schemas/records.ts";
import type { SessionOf } from "../../state/session.ts";

/** Rejects while the broker is away. */
export async function exampleMessages(
  { codec, kafka, topic: topicOf }: Pick<SessionOf<object>, "codec" | "kafka" | "topic">,
  changes: readonly ExampleChange[],
): Promise<OutgoingMessage<Topic<"examples">>[]> {
  const topic = topicOf("examples");
  const removes = changes.some(({ value }) => value === null);
  const all = removes ? (await kafka.spans(topic)).map(({ partition }) => partition) : [];
  // One time for all: a state and its removal in one call are told apart by their order, as their
  // offsets are.
  const timestamp = Date.now();
  return changes.flatMap(({ id, domain, value }): OutgoingMessage<Topic<"examples">>[] => {
    const key = `${domain}/${id}`;
    if (value !== null) return [{ topic, key, value: codec.encode("examples", value), timestamp }];
    return all.map((partition) => ({ topic, key, value: null, timestamp, partition }));
  });
}
