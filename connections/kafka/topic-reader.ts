// Reads a topic outside any group: whole from the beginning (a table), or from now on.
import type { RawRecord, TopicFollower, TopicReader } from "./port.ts";
import { untilReachable } from "./retry.ts";
import { followTopic, type ReaderOptions } from "./topic-follower.ts";

/** How often a topic is looked at for partitions that were added since. */
const lookEveryMs = 10_000;

export function readTopic(
  options: ReaderOptions,
  onRecords: (records: RawRecord[], partition: number) => void | Promise<void>,
): TopicReader {
  const { admin, topic, endsOnRefusal, log } = options;
  const follower = followTopic(options, { onRecords: (records, { partition }) => onRecords(records, partition) });
  let stopped = false;
  let added: NodeJS.Timeout | undefined;
  const begin = async (): Promise<void> => {
    const offsets = await untilReachable(() => admin().then((connected) => connected.fetchTopicOffsets(topic)), {
      ...{ log, topic, endsOnRefusal },
      stopped: () => stopped,
    });
    const partitions = (offsets ?? []).map(({ partition, low }) => ({ partition, low: Number(low) }));
    if (stopped) return;
    for (const { partition, low } of partitions) follower.follow(partition, low);
    added = followAdded(options, follower, partitions);
    await Promise.all(partitions.map(({ partition }) => follower.caughtUp(partition)));
  };
  return {
    caughtUp: begin(),
    async stop() {
      stopped = true;
      clearInterval(added);
      await follower.stop();
    },
  };
}

export async function tailTopic(
  options: ReaderOptions,
  onRecord: (record: RawRecord, partition: number) => void,
): Promise<{ stop(): Promise<void> }> {
  const { admin, topic, endsOnRefusal, log } = options;
  const looked = untilReachable(() => admin().then((connected) => connected.fetchTopicOffsets(topic)), {
    ...{ log, topic, endsOnRefusal },
  });
  const offsets = (await looked) ?? [];
  const follower = followTopic(options, {
    onRecords(records, { partition }) {
      for (const record of records) onRecord(record, partition);
    },
  });
  for (const { partition, high } of offsets) follower.follow(partition, Number(high));
  const added = followAdded(options, follower, offsets);
  return {
    stop() {
      clearInterval(added);
      return follower.stop();
    },
  };
}

/** Partitions that are added to the topic are part of it, too, from their beginning. */
function followAdded(
  { admin, topic, log }: ReaderOptions,
  follower: TopicFollower,
  followed: readonly { partition: number }[],
): NodeJS.Timeout {
  const known = new Set(followed.map(({ partition }) => partition));
  const look = async (): Promise<void> => {
    for (const { partition, low } of await (await admin()).fetchTopicOffsets(topic)) {
      if (known.has(partition)) continue;
      known.add(partition);
      log.info({ topic, partition }, "a partition was added: it is read, too");
      follower.follow(partition, Number(low));
    }
  };
  return setInterval(() => {
    look().catch((error: unknown) => log.debug({ err: error, topic }, "no look at the partitions of a topic"));
  }, lookEveryMs).unref();
}
