// What comes on a topic from now on, decoded, for tests.
import type { Session } from "../../pipelines/session.ts";
import type { RecordOf, TopicName } from "../../schemas/records.ts";

/**
 * Resolves when it is at the end of the topic. Tombstones are left out; a record that can't be
 * decoded fails the run.
 */
export function follow<N extends TopicName>(
  { kafka, codec, topic }: Pick<Session, "kafka" | "codec" | "topic">,
  name: N,
  take: (record: RecordOf[N]) => void,
): Promise<{ stop(): Promise<void> }> {
  return kafka.tailTopic(topic(name), ({ value }) => {
    if (value === null) return;
    void codec.decode(name, value).then((decoded) => {
      if (!decoded.ok) throw new Error(`a record of ${name}: ${decoded.reason}`);
      take(decoded.value);
    });
  });
}
