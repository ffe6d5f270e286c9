// Copies an example's history from its home partition to the others of its domain, in order, so
// that copies end as the home does. Positions are committed with the copies, which a header marks;
// they keep the original's time.
import { sameOrigin, unknownOrigin, type Origin } from "../../algorithms/identity/origin.ts";
import type { Kafka, OutgoingMessage, RawRecord, TopicFollower } from "../../connections/kafka/port.ts";

export const copyHeader = "precedent-copy";

export interface ReadPosition {
  topic: string;
  partition: number;
  offset: number;
  /** What the offset belongs to. */
  origin?: Origin;
}

export interface MirrorDependencies<T extends string = string> {
  kafka: Pick<Kafka<never, T, never>, "followTopic" | "spans" | "lag" | "origins">;
  topic: T;
  group: string;
  publish: (messages: readonly OutgoingMessage<T>[], read: readonly ReadPosition[]) => Promise<void>;
}

export interface Mirror {
  /** Copies what has come since; at most so much that it fits a few transactions. */
  copy(partitionsOf: (domain: string) => Iterable<number>): Promise<{ copied: number; more: boolean }>;
  position(partition: number): number;
  /** Whether the topic is still the one that it reads. */
  isCurrent(): Promise<boolean>;
  stop(): Promise<void>;
}

/** What waits in memory, and what goes into one transaction. */
const most = { records: 2_000, bytes: 8 * 1_048_576, publishBytes: 4 * 1_048_576 };

const sizeOf = ({ key, value }: { key: string | Buffer | null; value: Buffer | null }): number =>
  (key?.length ?? 0) + (value?.length ?? 0);

/** `anew`: nothing was placed yet, so nothing on the topic needs copies. */
export async function createMirror<T extends string>(
  dependencies: MirrorDependencies<T>,
  anew: boolean,
): Promise<Mirror> {
  const { kafka, topic, group, publish } = dependencies;
  const waiting: { partition: number; record: RawRecord }[] = [];
  let bytes = 0;
  const drained: (() => void)[] = [];
  const positions = new Map<number, number>();

  const follower: TopicFollower = kafka.followTopic(topic, {
    async onRecords(records, { partition, isStale }) {
      for (const record of records) {
        waiting.push({ partition, record });
        bytes += sizeOf(record);
      }
      while ((waiting.length >= most.records || bytes >= most.bytes) && !isStale())
        await new Promise<void>((resolve) => drained.push(resolve));
    },
  });
  const originNow = async (): Promise<Origin> => (await kafka.origins([topic])).get(topic) ?? unknownOrigin;
  const origin = await originNow();
  const [spans, committed] = await Promise.all([kafka.spans(topic), kafka.lag(group, topic)]);
  for (const { partition, beginning, end } of spans) {
    const position = committed.find((one) => one.partition === partition);
    const known =
      position !== undefined && sameOrigin(position.origin ?? unknownOrigin, origin) ? position.committed : undefined;
    const valid = known !== undefined && known >= beginning && known <= end;
    const from = anew ? end : valid ? known : beginning;
    positions.set(partition, from);
  }
  // Known from now on, or the next owner would copy everything.
  if (anew)
    await publish(
      [],
      [...positions].map(([partition, offset]) => ({ topic, partition, offset, origin })),
    );
  for (const [partition, from] of positions) follower.follow(partition, from);

  return {
    async copy(partitionsOf) {
      const batch = waiting.slice(0, most.records);
      if (batch.length === 0) return { copied: 0, more: false };
      const messages = batch.flatMap(({ partition: home, record }): OutgoingMessage<T>[] => {
        if (copyHeader in record.headers) return [];
        const { key, value, timestamp } = record;
        const domain = domainOf(key?.toString() ?? "");
        return [...partitionsOf(domain)]
          .filter((partition) => partition !== home)
          .map((partition) => ({ topic, key, value, partition, timestamp, headers: { [copyHeader]: "1" } }));
      });
      const read = new Map(batch.map(({ partition, record }) => [partition, record.offset + 1]));
      await publishInParts(
        messages,
        [...read].map(([partition, offset]) => ({ topic, partition, offset, origin })),
        publish,
      );
      for (const [partition, offset] of read) positions.set(partition, offset);
      waiting.splice(0, batch.length);
      bytes -= batch.reduce((sum, { record }) => sum + sizeOf(record), 0);
      for (const resume of drained.splice(0)) resume();
      return { copied: messages.length, more: waiting.length > 0 };
    },
    position: (partition) => positions.get(partition) ?? 0,
    isCurrent: async () => sameOrigin(origin, await originNow()),
    async stop() {
      for (const partition of positions.keys()) follower.unfollow(partition);
      for (const resume of drained.splice(0)) resume();
      await follower.stop();
    },
  };
}

/** Transactions of a bounded size, in order; the positions go with the last. */
export async function publishInParts<T extends string>(
  messages: readonly OutgoingMessage<T>[],
  read: readonly ReadPosition[],
  publish: MirrorDependencies<T>["publish"],
): Promise<void> {
  let part: OutgoingMessage<T>[] = [];
  let size = 0;
  for (const message of messages) {
    if (part.length > 0 && size + sizeOf(message) > most.publishBytes) {
      await publish(part, []);
      part = [];
      size = 0;
    }
    part.push(message);
    size += sizeOf(message);
  }
  if (part.length > 0 || read.length > 0) await publish(part, read);
}

/** Keys are tenant/domain/example id. */
const domainOf = (key: string): string => key.slice(0, Math.max(0, key.lastIndexOf("/")));
