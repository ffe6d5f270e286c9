// Changed examples as messages: a state to its key's home (operators/placement copies it), a
// removal to copies as well. For one transaction.
import type { OutgoingMessage } from "../../connections/kafka/port.ts";
import type { ExampleChange } from "../../operators/example-change.ts";
import { removalMessages } from "../../operators/placement/removal.ts";
import type { Topic } from "../../schemas/records.ts";
import type { SessionOf } from "../../state/session.ts";

/** partitionsOf: where a domain is placed; default all. Rejects while the broker is away. */
export async function exampleMessages(
  { codec, kafka, topic: topicOf }: Pick<SessionOf<object>, "codec" | "kafka" | "topic">,
  changes: readonly ExampleChange[],
  partitionsOf?: (domain: string) => Iterable<number>,
): Promise<OutgoingMessage<Topic<"examples">>[]> {
  const topic = topicOf("examples");
  const removes = changes.some(({ value }) => value === null);
  const all = removes ? (await kafka.spans(topic)).map(({ partition }) => partition) : [];
  // One time for all: a state and its removal in one call are told apart by their order, as their
  // offsets are.
  const timestamp = Date.now();
  return changes.flatMap(({ id, domain, value }) => {
    const key = `${domain}/${id}`;
    if (value !== null) return [{ topic, key, value: codec.encode("examples", value), timestamp }];
    return removalMessages(
      { topic, key, timestamp },
      kafka.partitionOf(key, all.length),
      partitionsOf?.(domain) ?? all,
    );
  });
}
