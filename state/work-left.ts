// Whether work of an arm waits on its topic: looked at when it is retired or has become inline.
import type { Kafka } from "../connections/kafka/port.ts";
import { groupName } from "../runtime/running-stage.ts";

/** Rejects while the broker is away or has no such topic. Transaction markers count. */
export async function isWorkLeft(
  kafka: Pick<Kafka, "lag">,
  { prefix, arm, topic }: { prefix: string; arm: string; topic: string },
): Promise<boolean> {
  const partitions = await kafka.lag(groupName(prefix, "generate", arm), topic);
  return partitions.some(({ end, committed }) => end > (committed ?? 0));
}
