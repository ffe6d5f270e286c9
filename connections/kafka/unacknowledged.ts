// What of a batch the brokers have not acknowledged yet, partition by partition: kafkajs-send.ts
// sends it until nothing is left. Pure.
import { BatchTooLarge, NoSuchPartition } from "./errors.ts";
import { mostMessageBytes } from "./record-port.ts";

export interface Message {
  key?: Buffer | string | null;
  value: Buffer | string | null;
  partition?: number | null;
  headers?: object;
  timestamp?: string;
}
export interface TopicMessages {
  topic: string;
  messages: readonly Message[];
}
/** The messages of one partition: one batch, resent under the same sequence number. */
export interface Batch {
  topic: string;
  partition: number;
  messages: Message[];
  /** Sequence number of an idempotent producer, from the first attempt on. */
  firstSequence?: number;
}
/** One partition in a broker's answer to Produce. */
export interface PartitionResponse {
  partition: number;
  errorCode: number;
  /** -1: the broker does not report the offset. */
  baseOffset: string;
}
export interface ProduceResponse {
  topics: readonly { topicName: string; partitions: readonly PartitionResponse[] }[];
}

/**
 * The messages by partition, in their order. A partition is chosen once: a record that may be in
 * the log already must not go to another when partitions are added between two attempts.
 */
export function batchesOf(
  topicMessages: readonly TopicMessages[],
  partitionOf: (topic: string, message: Message) => number,
): Batch[] {
  const batches = new Map<string, Batch>();
  for (const { topic, messages } of topicMessages)
    for (const message of messages) {
      const partition = partitionOf(topic, message);
      const key = `${partition}/${topic}`;
      const batch = batches.get(key);
      if (batch === undefined) batches.set(key, { topic, partition, messages: [message] });
      else batch.messages.push(message);
    }
  return [...batches.values()];
}

const sizeOf = (value: Buffer | string | null | undefined): number =>
  typeof value === "string" ? Buffer.byteLength(value) : (value?.length ?? 0);
const bytesOf = ({ messages }: Batch): number =>
  messages.reduce((sum, { key, value }) => sum + sizeOf(key) + sizeOf(value), 0);

/**
 * Batches in requests that a broker takes. One that is above its socket.request.max.bytes is not
 * answered: the connection is closed, as if the broker were away. Throws BatchTooLarge for a batch
 * that no topic takes, before anything is sent.
 */
export function inRequests(batches: readonly Batch[]): Batch[][] {
  const requests: Batch[][] = [];
  let left = 0;
  for (const batch of batches) {
    const bytes = bytesOf(batch);
    if (bytes > mostMessageBytes) throw new BatchTooLarge(batch.topic, batch.partition, bytes, mostMessageBytes);
    const current = requests.at(-1);
    if (current === undefined || bytes > left) {
      requests.push([batch]);
      left = mostMessageBytes - bytes;
    } else {
      current.push(batch);
      left -= bytes;
    }
  }
  return requests;
}

/** Throws for partitions that their topics do not have. `known`: the partitions of a topic. */
export function refuseMissing(batches: readonly Batch[], known: (topic: string) => ReadonlySet<number>): void {
  const missing = batches.filter(({ topic, partition }) => !known(topic).has(partition));
  const [first] = missing;
  if (first === undefined) return;
  throw new NoSuchPartition(
    missing.map(({ topic, partition }) => ({ topic, partition })),
    known(first.topic).size,
  );
}

export interface Outcome {
  acknowledged: Map<Batch, PartitionResponse>;
  /** Said of a batch by the broker. */
  refused: { batch: Batch; errorCode: number }[];
  /** Neither refused nor placed in the log: their outcome is unknown. */
  doubtful: Batch[];
}

/** Compares what was sent with the answer. Acknowledged is what has no error and an offset. */
export function compare(sent: readonly Batch[], { topics }: ProduceResponse): Outcome {
  const answers = new Map<string, PartitionResponse>();
  for (const { topicName, partitions } of topics)
    for (const answer of partitions) answers.set(`${answer.partition}/${topicName}`, answer);
  const outcome: Outcome = { acknowledged: new Map(), refused: [], doubtful: [] };
  for (const batch of sent) {
    const answer = answers.get(`${batch.partition}/${batch.topic}`);
    if (answer !== undefined && answer.errorCode !== 0) outcome.refused.push({ batch, errorCode: answer.errorCode });
    else if (answer !== undefined && /^\d+$/.test(answer.baseOffset)) outcome.acknowledged.set(batch, answer);
    else outcome.doubtful.push(batch);
  }
  return outcome;
}
