// Reads a topic outside any group that matters: whole from the beginning (a table of a compacted topic), or from now on.
import type { RawRecord, TopicReader } from "./port.ts";
import { untilReachable } from "./retry.ts";
import { followTopic, type ReaderOptions } from "./topic-follower.ts";

export function readTopic(
  options: ReaderOptions,
  onRecords: (records: RawRecord[], partition: number) => void | Promise<void>,
): TopicReader {
  const { admin, topic, log } = options;
  const follower = followTopic(options, { onRecords: (records, { partition }) => onRecords(records, partition) });
  let stopped = false;
  const begin = async (): Promise<void> => {
    const offsets = await untilReachable(
      () => admin().then((connected) => connected.fetchTopicOffsets(topic)),
      log,
      () => stopped,
    );
    const partitions = (offsets ?? []).map(({ partition, low }) => ({ partition, low: Number(low) }));
    for (const { partition, low } of partitions) if (!stopped) follower.follow(partition, low);
    await Promise.all(partitions.map(({ partition }) => follower.caughtUp(partition)));
  };
  return {
    caughtUp: begin(),
    async stop() {
      stopped = true;
      await follower.stop();
    },
  };
}

export async function tailTopic(
  options: ReaderOptions,
  onRecord: (record: RawRecord, partition: number) => void,
): Promise<{ stop(): Promise<void> }> {
  const { admin, topic, log } = options;
  const offsets =
    (await untilReachable(() => admin().then((connected) => connected.fetchTopicOffsets(topic)), log)) ?? [];
  const follower = followTopic(options, {
    onRecords(records, { partition }) {
      for (const record of records) onRecord(record, partition);
    },
  });
  for (const { partition, high } of offsets) follower.follow(partition, Number(high));
  return { stop: follower.stop };
}
