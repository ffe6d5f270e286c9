// Between our records and kafkajs' messages.
import type { IHeaders, KafkaMessage, TopicMessages } from "kafkajs";
import type { OutgoingMessage, RawRecord } from "./port.ts";

export function groupByTopic(messages: readonly OutgoingMessage[]): TopicMessages[] {
  const topics = new Map<string, TopicMessages>();
  for (const { topic, key, value, partition, headers, timestamp } of messages) {
    let entry = topics.get(topic);
    if (entry === undefined) topics.set(topic, (entry = { topic, messages: [] }));
    entry.messages.push({
      key,
      value,
      ...(partition === undefined ? {} : { partition }),
      ...(headers === undefined ? {} : { headers }),
      ...(timestamp === undefined ? {} : { timestamp: String(timestamp) }),
    });
  }
  return [...topics.values()];
}

/** In the attributes of a batch; kafkajs' types do not have it. */
const logAppendTime = 1;

export function toRawRecord(message: KafkaMessage): RawRecord {
  const { batchContext } = message as { batchContext?: { timestampType?: number } };
  return {
    offset: Number(message.offset),
    key: message.key,
    value: message.value,
    headers: plainHeaders(message.headers),
    timestamp: Number(message.timestamp),
    appended: batchContext?.timestampType === logAppendTime,
  };
}

/** The last value of a repeated header counts. */
function plainHeaders(headers: IHeaders | undefined): Record<string, Buffer> {
  const plain: Record<string, Buffer> = {};
  for (const [name, value] of Object.entries(headers ?? {})) {
    const last = Array.isArray(value) ? value.at(-1) : value;
    if (last !== undefined) plain[name] = Buffer.isBuffer(last) ? last : Buffer.from(last);
  }
  return plain;
}
