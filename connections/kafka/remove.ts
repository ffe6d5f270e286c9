// Removes the topics and consumer groups of a log replay: everything whose name begins with its
// prefix. Nothing else is ever removed from Kafka here, so a prefix that is not a log replay's is
// refused.
import { setTimeout as sleep } from "node:timers/promises";
import { createKafkaClient, type KafkaClientOptions } from "./client.ts";

const logReplayPrefix = /log-replay-[0-9a-f]{8}\.$/;
/** A group that was left a moment ago may still have members for its brokers. */
const groupTries = { most: 20, everyMs: 500 };

/** How many topics and groups there were. Rejects while a broker is away. */
export async function removeLogReplayTopics(
  options: KafkaClientOptions,
  prefix: string,
): Promise<{ topics: number; groups: number }> {
  if (!logReplayPrefix.test(prefix))
    throw new Error(`"${prefix}" is not the prefix of a log replay: nothing was removed`);
  const admin = createKafkaClient(options).admin();
  await admin.connect();
  try {
    const topics = (await admin.listTopics()).filter((name) => name.startsWith(prefix));
    const groups = (await admin.listGroups()).groups.flatMap(({ groupId }) =>
      groupId.startsWith(prefix) ? [groupId] : [],
    );
    if (topics.length > 0) await admin.deleteTopics({ topics });
    for (const group of groups)
      for (let tries = 1; ; tries++)
        try {
          await admin.deleteGroups([group]);
          break;
        } catch (error) {
          if (tries >= groupTries.most) throw error;
          await sleep(groupTries.everyMs);
        }
    return { topics: topics.length, groups: groups.length };
  } finally {
    await admin.disconnect();
  }
}
