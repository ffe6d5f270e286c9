// Versions of policies on the topic `policies`, ascending and unique: a writer fences all others
// (one transactional id), reads to the end, then appends. A fenced one starts over. One writer may
// write several names.
import pLimit from "p-limit";
import type { Logger } from "pino";
import type { Kafka, OutgoingMessage, TopicReader } from "../../connections/kafka/port.ts";
import type { Codec } from "../../connections/registry/port.ts";
import { followTable } from "../../runtime/table.ts";
import type { Policy } from "../../schemas/types.ts";

export interface PolicyLogsDependencies<T extends string = string> {
  producer: {
    initialise(): Promise<void>;
    publish: (messages: readonly OutgoingMessage<T>[]) => Promise<void>;
  };
  kafka: Pick<Kafka<never, T, never>, "readTopic">;
  codec: Codec;
  topic: T;
  names: readonly string[];
  /** Highest version of a name in the table `policies`: the topic may have been made anew. */
  highestRecorded(name: string): Promise<number>;
  log: Logger;
}

export interface PolicyLog {
  /** Becomes the writer and reads what there is; done by append where needed. */
  open(): Promise<void>;
  /** The newest version seen; before open() that of the last time. */
  newest(): Policy | null;
  /**
   * Publishes what is made of the next version number; null: nothing. Made as the writer, all
   * versions read. After a rejection the next call starts with open().
   */
  append<P extends Policy | null>(make: (version: number) => P): Promise<P>;
  close(): Promise<void>;
}

export interface PolicyLogs {
  /** As PolicyLog.open, once for all names. */
  open(): Promise<void>;
  /** One of `names`; its close() leaves the others open. */
  of(name: string): PolicyLog;
  close(): Promise<void>;
}

/** The transactional id that all writers of policies share. */
export const policyWriterId = (prefix: string): string => `${prefix}policies.writer`;

/** Whether the newest version is a revert, which nothing learnt replaces. */
export const isPaused = (policies: Pick<PolicyLog, "newest">): boolean =>
  (policies.newest()?.revertOf ?? null) !== null;

interface Line {
  newest: Policy | null;
  highest: number;
}

export function createPolicyLogs<T extends string>(dependencies: PolicyLogsDependencies<T>): PolicyLogs {
  const { producer, kafka, codec, topic, names, highestRecorded, log } = dependencies;
  const lines = new Map<string, Line>(names.map((name) => [name, { newest: null, highest: 0 }]));
  let reader: TopicReader | undefined;
  let isWriter = false;
  // One at a time: an append that opens anew must not cross another's.
  const inTurn = pLimit(1);

  const take = (policy: Policy): void => {
    const line = lines.get(policy.name);
    if (line === undefined) return;
    line.highest = Math.max(line.highest, policy.version);
    if (line.newest === null || policy.version > line.newest.version) line.newest = policy;
  };

  const open = async (): Promise<void> => {
    isWriter = false;
    await producer.initialise();
    await reader?.stop();
    // From the beginning again: a reader that was there before may still lag behind what others
    // published.
    reader = followTable({
      kafka,
      codec,
      log,
      topic,
      record: "policies",
      apply(changes) {
        for (const { key, value } of changes) {
          const line = lines.get(key);
          if (value !== null) take(value);
          else if (line !== undefined) line.newest = null;
        }
      },
    });
    await reader.caughtUp;
    for (const [name, line] of lines) line.highest = Math.max(line.highest, await highestRecorded(name));
    isWriter = true;
  };

  const append = async <P extends Policy | null>(
    name: string,
    line: Line,
    make: (version: number) => P,
  ): Promise<P> => {
    if (!isWriter) await open();
    const policy = make(line.highest + 1);
    if (policy === null) return policy;
    try {
      await producer.publish([{ topic, key: name, value: codec.encode("policies", policy) }]);
    } catch (error) {
      isWriter = false;
      throw error;
    }
    take(policy);
    return policy;
  };

  return {
    open: () => inTurn(open),
    of(name) {
      const line = lines.get(name);
      if (line === undefined) throw new Error(`this writer keeps ${names.join(", ")}, not ${name}`);
      return {
        open: () => inTurn(open),
        newest: () => line.newest,
        append: (make) => inTurn(() => append(name, line, make)),
        close: () => Promise.resolve(),
      };
    },
    close: () => inTurn(async () => reader?.stop()),
  };
}

/** The log of one name with a writer of its own. */
export function createPolicyLog<T extends string>({
  name,
  ...rest
}: Omit<PolicyLogsDependencies<T>, "names"> & { name: string }): PolicyLog {
  const logs = createPolicyLogs({ ...rest, names: [name] });
  return { ...logs.of(name), close: logs.close };
}
