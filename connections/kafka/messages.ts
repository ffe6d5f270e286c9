// Between our records and kafkajs' messages.
import type { KafkaMessage, TopicMessages } from "kafkajs";
import type { OutgoingMessage, RawRecord } from "./port.ts";
import type { FetchedMessage, Headers } from "./protocol/fetched-message.ts";
import { groupBy } from "../../algorithms/lists/lists.ts";

export const groupByTopic = (messages: readonly OutgoingMessage[]): TopicMessages[] =>
  Array.from(
    groupBy(messages, ({ topic }) => topic),
    ([topic, its]) => ({ topic, messages: its.map(toMessage) }),
  );

const toMessage = ({ key, value, partition, headers, timestamp }: OutgoingMessage) => ({
  key,
  value,
  ...(partition === undefined ? {} : { partition }),
  ...(headers === undefined ? {} : { headers }),
  ...(timestamp === undefined ? {} : { timestamp: String(timestamp) }),
});

/** Numbers of partitions by topic, as requests name them. */
export const partitionsByTopic = (
  all: readonly { topic: string; partition: number }[],
): { topic: string; partitions: number[] }[] =>
  Array.from(
    groupBy(all, ({ topic }) => topic),
    ([topic, its]) => ({ topic, partitions: its.map(({ partition }) => partition) }),
  );

/** In the attributes of a batch. */
const logAppendTime = 1;
/** What a Date can say, either way. A producer may write any number. */
const lastTime = 8_640_000_000_000_000;

/** Messages as our own decoder makes them (kafkajs-fetch.ts). */
export function toRawRecord(message: KafkaMessage): RawRecord {
  const { offset, key, value, headers, timestamp, batchContext, unreadable } = message as unknown as FetchedMessage;
  const record: RawRecord = {
    offset: Number(offset),
    key,
    value,
    headers: byName(headers),
    timestamp: Math.min(Math.max(Number(timestamp), -lastTime), lastTime),
    appended: batchContext.timestampType === logAppendTime,
  };
  if (Object.keys(record.headers).length < headers.length) record.headerList = headers;
  if (unreadable !== undefined) record.unreadable = unreadable;
  return record;
}

const none: Record<string, Buffer> = Object.freeze(Object.create(null) as Record<string, Buffer>);

/** The last value of a repeated header counts; one without a value counts for none. */
function byName(headers: Headers): Record<string, Buffer> {
  if (headers.length === 0) return none;
  const named = Object.create(null) as Record<string, Buffer>;
  for (const [name, value] of headers) if (value !== null) named[name] = value;
  return named;
}
