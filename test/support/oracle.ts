// Knows from outside the pipeline what must come out of it: issues ids at a steady rate, counts
// what stands in the topics and in ClickHouse, and watches that committed offsets never go back.
import { setTimeout as sleep } from "node:timers/promises";
import pLimit from "p-limit";
import type { Session } from "../../pipelines/session.ts";
import { groupName } from "../../runtime/running-stage.ts";
import { recordedTopics } from "../../operators/decode/rows.ts";
import type { Request } from "../../schemas/types.ts";
import { whileProgressing } from "./progress.ts";
import { requestOf } from "./system.ts";

export interface Oracle {
  /** Ids that the broker has acknowledged, in order. */
  readonly issued: readonly string[];
  /**
   * Produces requests at a steady rate; a broker that is away is waited for, so that some may come
   * to stand there twice.
   */
  issue(count: number, perSecond: number): Promise<void>;
  /**
   * Produces these as well, as often as they are given; their ids count as issued from the first
   * acknowledgement on.
   */
  send(requests: readonly (Partial<Request> & { id: string })[]): Promise<void>;
  /** How many ids have an answer so far. */
  answered(): number;
  /**
   * How many of the ids issued as number `from` up to `to` (exclusive, all by default) have an
   * answer.
   */
  answeredOf(from: number, to?: number): number;
  /** Records of a topic by key, read anew and read-committed. */
  recordsOf(topic: string): Promise<Map<string, number>>;
  /**
   * Resolves when every id has an answer; rejects when none more has come for so long, or some lack
   * at the latest after three times as long.
   */
  allAnswered(stillMs: number): Promise<void>;
  /**
   * Resolves when no group has anything left to read; rejects when none has got on for so long, or
   * at the latest after three times as long.
   */
  drained(stillMs: number): Promise<void>;
  /** Ends of all partitions that the stages read, as they are now. */
  ends(): Promise<ReadonlyMap<string, number>>;
  /**
   * Partitions that are not committed up to these ends; rejects while a transaction stays open on
   * one.
   */
  behind(ends: ReadonlyMap<string, number>): Promise<string[]>;
  /** What was seen of the committed offsets: how many looks, and every step back. */
  offsets(): { looks: number; backwards: string[] };
  stop(): Promise<void>;
}

export interface OracleOptions {
  session: Session;
  arms: readonly string[];
  /** Question of the i-th request. */
  questionOf: (index: number) => string;
  prefix: string;
  /** What else the i-th request says. */
  more?: (index: number) => Partial<Request>;
  /** The database is left as it is when the oracle stops. */
  keepDatabase?: boolean;
}

export async function createOracle({
  session,
  arms,
  questionOf,
  prefix,
  more = () => ({}),
  keepDatabase = false,
}: OracleOptions): Promise<Oracle> {
  const { kafka, codec, topic, config } = session;
  const issued: string[] = [];
  const known = new Set<string>();
  const answered = new Set<string>();
  const producer = kafka.plainProducer();
  const groups = groupsOf(session, arms);
  const seen = new Map<string, number>();
  const backwards: string[] = [];
  let looks = 0;
  let next = 0;
  let stopped = false;
  const tail = await kafka.tailTopic(topic("responses"), ({ key }) => void answered.add(key?.toString() ?? ""));

  /**
   * How far all groups have read together, who has not read everything, and where each partition
   * ends.
   */
  const lookOnce = async (): Promise<{ read: number; waiting: string[]; ends: Map<string, number> }> => {
    const waiting: string[] = [];
    const ends = new Map<string, number>();
    let read = 0;
    for (const { group, of } of groups)
      for (const name of of)
        for (const { partition, end, committed } of await kafka.lag(group, name)) {
          const key = `${group} ${name}/${partition}`;
          const before = seen.get(key);
          if (before !== undefined && (committed ?? 0) < before)
            backwards.push(`${key}: ${before} -> ${String(committed)}`);
          if (committed !== undefined) seen.set(key, committed);
          read += committed ?? 0;
          ends.set(key, end);
          if (end > (committed ?? 0)) waiting.push(`${key}: ${String(committed)} of ${end}`);
        }
    looks++;
    return { read, waiting, ends };
  };
  // One at a time: of two at once the one that began first may end last, and what it saw would look
  // like a step back.
  const oneAtATime = pLimit(1);
  const look = (): ReturnType<typeof lookOnce> => oneAtATime(lookOnce);
  const send: Oracle["send"] = async (requests) => {
    const messages = requests.map((request) => ({
      topic: topic("requests"),
      key: request.id,
      value: codec.encode("requests", request as Request),
    }));
    for (let attempt = 1; ; attempt++)
      try {
        await producer.send(messages);
        break;
      } catch (error) {
        if (attempt === 100) throw error;
        await sleep(500);
      }
    for (const { id } of requests) {
      if (known.has(id)) continue;
      known.add(id);
      issued.push(id);
    }
  };
  const watch = (async () => {
    while (!stopped) {
      // A broker that is away shows nothing; what it says next must not lie behind what it said
      // before.
      await look().catch(() => undefined);
      await sleep(1_000);
    }
  })();

  return {
    issued,
    async issue(count, perSecond) {
      const slice = Math.max(1, Math.round(perSecond / 10));
      const began = Date.now();
      for (let sent = 0; sent < count;) {
        const indexes = Array.from({ length: Math.min(slice, count - sent) }, (_, i) => next + i);
        next += indexes.length;
        await send(
          indexes.map((i) =>
            requestOf(questionOf(i), {
              id: `${prefix}-${i}`,
              // fresh: an exact repeat must be answered by an arm, or generate would have nothing
              // to do.
              privacy: { cache: true, share: true, fresh: true },
              ...more(i),
            }),
          ),
        );
        sent += indexes.length;
        await sleep(Math.max(0, began + (1_000 * sent) / perSecond - Date.now()));
      }
    },
    send,
    answered: () => answered.size,
    answeredOf: (from, to) => issued.slice(from, to).reduce((sum, id) => sum + Number(answered.has(id)), 0),
    ends: async () => (await look()).ends,
    async behind(wanted) {
      await look();
      return [...wanted]
        .filter(([key, end]) => (seen.get(key) ?? 0) < end)
        .map(([key, end]) => `${key}: ${String(seen.get(key))} of ${end}`);
    },
    async recordsOf(name) {
      const places = new Map<string, Set<string>>();
      const reader = kafka.readTopic(name, (records, partition) => {
        for (const { key, offset } of records) {
          const id = key?.toString() ?? "";
          // By place: a reader that had to join again reads records twice.
          places.set(id, (places.get(id) ?? new Set()).add(`${partition}/${offset}`));
        }
      });
      await reader.caughtUp;
      await reader.stop();
      return new Map([...places].map(([id, where]) => [id, where.size]));
    },
    allAnswered: (stillMs) =>
      whileProgressing(
        "all answers",
        () => Promise.resolve({ done: answered.size >= issued.length, reached: answered.size }),
        { stillMs, atMostMs: 3 * stillMs },
      ),
    drained: (stillMs) =>
      whileProgressing(
        "all groups have read everything",
        async () => {
          const { read, waiting } = await look();
          return { done: waiting.length === 0, reached: read, missing: `still to be read: ${waiting.join(", ")}` };
        },
        { stillMs, atMostMs: 3 * stillMs },
      ),
    offsets: () => ({ looks, backwards }),
    async stop() {
      stopped = true;
      await watch;
      await Promise.all([tail.stop(), producer.close()]);
      if (!keepDatabase) await session.clickhouse.command(`DROP DATABASE IF EXISTS ${config.clickhouse.database}`);
    },
  };
}

function groupsOf({ config, topic }: Session, arms: readonly string[]): { group: string; of: string[] }[] {
  const { prefix } = config.kafka;
  return [
    { group: groupName(prefix, "plan"), of: [topic("requests")] },
    ...arms.map((arm) => ({ group: groupName(prefix, "generate", arm), of: [topic("work", arm)] })),
    { group: groupName(prefix, "record"), of: recordedTopics.map((name) => topic(name)) },
  ];
}

/** Ids whose number of records is not one: what is missing, and what is there too often. */
export function notOnce(
  issued: readonly string[],
  records: ReadonlyMap<string, number>,
): { lost: string[]; twice: string[] } {
  return {
    lost: issued.filter((id) => !records.has(id)),
    twice: [...records].filter(([, count]) => count > 1).map(([id, count]) => `${id}: ${count}`),
  };
}
