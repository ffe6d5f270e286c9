// The partitions of responses and deltas that this gateway has its answers sent to. The consumer
// group shares them among the gateways, and a gateway uses as many of its own as its open requests
// need (spread.ts). They are read outside of the group, from their end on, so that one that goes to
// another gateway, or is needed no more, is read on here until its last open request is answered.
// Reading shares nothing: every gateway drops what it does not wait for. Read-committed.
import type { Logger } from "pino";
import type { Kafka, RawRecord } from "../connections/kafka/port.ts";
import type { Codec } from "../connections/registry/port.ts";
import type { RecordOf, Topic } from "../schemas/records.ts";
import type { Response } from "../schemas/types.ts";
import { decodeWithRetries } from "../runtime/decode.ts";
import { repeat } from "../runtime/repeat.ts";
import { partitionsFor } from "./spread.ts";
import type { Waiting } from "./waiting.ts";

export interface RepliesOptions {
  kafka: Pick<
    Kafka<Topic<"responses">, Topic<"responses" | "deltas">, never>,
    "groupConsumer" | "followTopic" | "ends" | "members" | "partitionOf"
  >;
  codec: Codec;
  topic: Topic<"responses">;
  /** Read in the same partitions. */
  deltas: Topic<"deltas">;
  group: string;
  instance: string;
  sessionTimeoutMs: number;
  waiting: Waiting;
  /** Called for every awaited response with its position, before its waiter gets it. */
  onResponse: (response: Response, at: { partition: number; offset: number }) => void;
  log: Logger;
}

export type Replies = Awaited<ReturnType<typeof createReplies>>;

const lookEveryMs = 1_000;
const countEveryMs = 3_000;
/** Without a word of the brokers for so long they are away. */
const awayAfterMs = 15_000;

/** Resolves when the group was joined for the first time. */
export async function createReplies(options: RepliesOptions) {
  const { kafka, codec, topic, deltas, group, instance, sessionTimeoutMs, waiting, onResponse, log } = options;
  const stopping = new AbortController();
  let joined = false;
  let assigned: readonly number[] = [];
  let mine: readonly number[] = [];
  let turn = 0;
  let gateways = 1;
  let partitions = 0;
  /** When the gateways were last counted, and so the brokers last heard; at first it is due. */
  let countedAt = performance.now() - countEveryMs;

  const read = async <N extends "responses" | "deltas">(
    name: N,
    record: RawRecord,
    partition: number,
    take: (partition: number, value: RecordOf[N]) => void,
  ): Promise<void> => {
    if (record.value === null || !waiting.has(partition, record.key?.toString() ?? "")) return;
    const onWaiting = (cause: Error): void => log.warn({ err: cause }, "the registry is away: answers wait");
    const decoded = await decodeWithRetries(codec, name, record.value, { onWaiting, signal: stopping.signal });
    if (decoded.ok) take(partition, decoded.value);
    else log.error({ name, partition, offset: record.offset, reason: decoded.reason }, "a record is unreadable");
  };
  const responses = kafka.followTopic(topic, {
    onRecords: async (records, { partition }) => {
      for (const record of records)
        await read("responses", record, partition, (_, response) => {
          onResponse(response, { partition, offset: record.offset });
          waiting.response(partition, response);
        });
    },
  });
  const pieces = kafka.followTopic(deltas, {
    onRecords: async (records, { partition }) => {
      for (const record of records) await read("deltas", record, partition, waiting.delta);
    },
  });
  const followed = new Set<number>();

  /** Follows what it needs from its end on, and lets go what it does not and is answered here. */
  const look = async (): Promise<void> => {
    const open = mine.reduce((sum, partition) => sum + waiting.openOn(partition), 0);
    // First those that are read already.
    const own = assigned.toSorted((one, other) => Number(followed.has(other)) - Number(followed.has(one)));
    const needed = own.slice(0, partitionsFor(open, mine.length));
    if (needed.length > 0) mine = mine.filter((partition) => needed.includes(partition));
    if (joined && (needed.some((partition) => !mine.includes(partition)) || mine.length === 0)) {
      const [ends, ofDeltas] = await Promise.all([kafka.ends(topic), kafka.ends(deltas)]);
      // There may be more gateways than partitions: one without reads along on another's.
      const wanted = needed.length > 0 ? needed : [indexOf(instance, ends.length)];
      for (const { partition, high } of ends) {
        if (!wanted.includes(partition) || followed.has(partition)) continue;
        responses.follow(partition, high);
        const end = ofDeltas.find((one) => one.partition === partition);
        if (end !== undefined) pieces.follow(partition, end.high);
        followed.add(partition);
      }
      mine = wanted.filter((partition) => followed.has(partition));
    }
    for (const partition of followed) {
      if (mine.includes(partition) || waiting.openOn(partition) > 0) continue;
      responses.unfollow(partition);
      pieces.unfollow(partition);
      followed.delete(partition);
    }
    if (performance.now() - countedAt < countEveryMs) return;
    gateways = Math.max(1, await kafka.members(group));
    partitions = (await kafka.ends(topic)).length;
    countedAt = performance.now();
  };

  const consumer = kafka.groupConsumer({ group, topics: [topic], instance, sessionTimeoutMs });
  await consumer.run({
    onJoin(_member, partitions) {
      joined = true;
      assigned = partitions.map(({ partition }) => partition);
      // What went to others takes no new request from now on.
      mine = mine.filter((partition) => assigned.includes(partition));
      look().catch((error: unknown) => log.debug({ err: error }, "the reply partitions can't be read yet"));
    },
    // All partitions stay paused: the group only shares them.
    onBatch: () => undefined,
  });
  const looking = repeat(look, {
    ...{ everyMs: lookEveryMs, maxBackoffMs: countEveryMs, signal: stopping.signal, log },
  });

  return {
    /** The partition for the next request; undefined: none is read yet. */
    next: (): number | undefined => mine[turn++ % mine.length],
    /** Whether this gateway owns a name: one of all gateways does, by its reply partition. */
    owns: (name: string): boolean => partitions > 0 && assigned.includes(kafka.partitionOf(name, partitions)),
    /** Gateways that share the load, this one included, as last seen. */
    gateways: (): number => gateways,
    /** joined: requests can be answered, and the brokers said so a short while ago. */
    health: (): { joined: boolean; partitions: number } => ({
      joined: joined && mine.length > 0 && performance.now() - countedAt < awayAfterMs,
      partitions: mine.length,
    }),
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all([looking, consumer.stop(), responses.stop(), pieces.stop()]);
    },
  };
}

/** One of `count`, by name. */
function indexOf(name: string, count: number): number {
  let hash = 0;
  for (const character of name) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 65_521;
  return count === 0 ? 0 : hash % count;
}
