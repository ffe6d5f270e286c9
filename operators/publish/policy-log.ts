// The versions of one policy on the compacted topic `policies`: who is newest, and how the next one is added. Versions ascend and are never
// given twice: a writer first fences all others (they share a transactional id), then reads the topic to its end, and only then appends;
// whoever was fenced meanwhile has published nothing and starts over.
import type { Logger } from "pino";
import type { Kafka, OutgoingMessage, TopicReader } from "../../connections/kafka/port.ts";
import type { Codec } from "../../connections/registry/port.ts";
import { followTable } from "../../runtime/table.ts";
import type { Policy } from "../../schemas/types.ts";

export interface PolicyLogDependencies {
  producer: {
    /** Fences all other writers. */
    initialise(): Promise<void>;
    publish(messages: readonly OutgoingMessage[]): Promise<void>;
  };
  kafka: Kafka;
  codec: Codec;
  /** Full name of the topic. */
  topic: string;
  /** Name of the policy: its key. */
  name: string;
  /** Highest version in the table `policies`: the topic may have been made anew. */
  highestRecorded(): Promise<number>;
  log: Logger;
}

export interface PolicyLog {
  /** Becomes the writer and reads what there is; done by append where needed. */
  open(): Promise<void>;
  /** The newest version seen; before open() that of the last time. */
  newest(): Policy | null;
  /** Publishes what is made of the next version number. When it rejects nothing is certain; the next call starts with open(). */
  append(make: (version: number) => Policy): Promise<Policy>;
  close(): Promise<void>;
}

/** The transactional id that all writers of policies share. */
export const policyWriterId = (prefix: string): string => `${prefix}policies.writer`;

export function createPolicyLog({
  producer,
  kafka,
  codec,
  topic,
  name,
  highestRecorded,
  log,
}: PolicyLogDependencies): PolicyLog {
  let reader: TopicReader | undefined;
  let newest: Policy | null = null;
  let highest = 0;
  let isWriter = false;

  const take = (policy: Policy): void => {
    if (policy.name !== name) return;
    highest = Math.max(highest, policy.version);
    if (newest === null || policy.version > newest.version) newest = policy;
  };

  const open = async (): Promise<void> => {
    isWriter = false;
    await producer.initialise();
    await reader?.stop();
    // From the beginning again: a reader that was there before may still lag behind what others published.
    reader = followTable({
      kafka,
      codec,
      log,
      topic,
      record: "policies",
      apply(changes) {
        for (const { key, value } of changes) {
          if (value !== null) take(value);
          else if (key === name) newest = null;
        }
      },
    });
    await reader.caughtUp;
    highest = Math.max(highest, await highestRecorded());
    isWriter = true;
  };

  return {
    open,
    newest: () => newest,
    async append(make) {
      if (!isWriter) await open();
      const policy = make(highest + 1);
      try {
        await producer.publish([{ topic, key: name, value: codec.encode("policies", policy) }]);
      } catch (error) {
        isWriter = false;
        throw error;
      }
      take(policy);
      return policy;
    },
    async close() {
      await reader?.stop();
    },
  };
}
