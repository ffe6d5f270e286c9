// Reads one dead letter, and sends its record to its topic again, byte for byte. The bytes come
// from the topic dead-letters, since ClickHouse may have masked them. The record and the note that
// it was sent are one transaction, with a position in a group of the letter's own: all gateways see
// that position, and their producers of the same id fence each other, so that one of them sends.
import { messageOf } from "../../../connections/errors.ts";
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import type { OutgoingMessage, RawRecord } from "../../../connections/kafka/port.ts";
import type { DeadLetter } from "../../../schemas/types.ts";
import type { Topic, TopicName } from "../../../schemas/records.ts";
import { decodeWithRetries } from "../../../runtime/decode.ts";
import { withTimeout } from "../../../runtime/with-timeout.ts";
import type { SessionOf } from "../../../state/session.ts";
import {
  findLetter,
  LetterRefused,
  readLetters,
  RETRIED,
  type Letter,
  type LetterRow,
  type StoredLetter,
} from "./dead-letters.ts";
import type { LetterFilter, LetterKey } from "./filters.ts";
import { headersOf, textOf } from "./letter-parts.ts";

export type Letters = ReturnType<typeof createLetters>;

export interface LettersDependencies {
  session: Pick<
    SessionOf<{ tables: ["dead-letters"]; outputs: ["dead-letters", "requests"] }>,
    "kafka" | "codec" | "log" | "topic"
  >;
  clickhouse: Pick<ClickHouse, "query">;
  /** The record type of a topic; undefined: no stage reads the topic. */
  recordOf: (topic: string) => TopicName | undefined;
  clock: () => number;
}

/** Topics of which the newest record of a key holds: an old one would take its place. */
const states: ReadonlySet<TopicName | undefined> = new Set<TopicName>(["examples", "policies"]);

const waitMs = 10_000;
const noMember = { id: "", generation: -1 };

export function createLetters({ session, clickhouse, recordOf, clock }: LettersDependencies) {
  const { kafka, codec, topic, log } = session;
  const letters = topic("dead-letters");

  const decoded = async (of: string, value: string | null, bytes: number | null): Promise<string | null> => {
    const name = recordOf(of);
    if (name === undefined || value === null || Buffer.byteLength(value, "base64") !== bytes) return null;
    const found = await codec.decode(name, Buffer.from(value, "base64"));
    return found.ok ? JSON.stringify(found.value, plain, 2) : null;
  };

  /** The record at a position of dead-letters; undefined: Kafka no longer has it. */
  const recordAt = async (partition: number, offset: number): Promise<RawRecord | undefined> => {
    let stop = (): Promise<void> => Promise.resolve();
    const read = new Promise<RawRecord | undefined>((resolve) => {
      const follower = kafka.followTopic(letters, {
        onRecords: ([first]) => {
          if (first !== undefined) resolve(first.offset === offset ? first : undefined);
        },
        onRewound: () => resolve(undefined),
      });
      stop = () => follower.stop();
      follower.follow(partition, offset);
    });
    return withTimeout(waitMs, read).finally(() => {
      stop().catch((error: unknown) => log.debug({ err: error }, "a reader of a dead letter did not stop"));
    });
  };

  const wholeLetter = async ({ row, kafkaPartition, kafkaOffset }: StoredLetter): Promise<DeadLetter> => {
    const record = await recordAt(kafkaPartition, kafkaOffset);
    const found =
      record === undefined || record.value === null
        ? undefined
        : await decodeWithRetries(codec, "dead-letters", record.value);
    const isIt =
      found?.ok === true &&
      found.value.topic === row.topic &&
      found.value.partition === row.partition &&
      found.value.offset === row.offset;
    if (!isIt) throw new LetterRefused("Kafka no longer has its bytes: the topic dead-letters keeps them for a while");
    return found.value;
  };

  /** The record as it was, and the note that it was sent. */
  const messagesOf = async (letter: DeadLetter, stage: string): Promise<OutgoingMessage<Topic<"dead-letters">>[]> => {
    if (letter.fullBytes !== null)
      throw new LetterRefused("it has only the beginning of its record, which is too large for a dead letter");
    if ((letter.firstOffset ?? letter.offset) < letter.offset)
      throw new LetterRefused("it stands for a batch of records that could not be read");
    const list =
      letter.headerList.length > 0
        ? letter.headerList.map(({ name, value }) => [name, value] as const)
        : Object.entries(letter.headers);
    const headers = headersOf(list);
    if (headers === null)
      throw new LetterRefused("its headers can't be sent as they were: some have no value, or repeat");
    const { key, value, topic: to, partition } = letter;
    const partitions = await kafka.spans(to);
    const note = codec.encode("dead-letters", retriedNote(letter, stage, clock()));
    return [
      {
        // The broker decides by its ACLs whether the gateway may.
        topic: to as Topic<"dead-letters">,
        ...{ key, value, headers },
        ...(partitions.some((one) => one.partition === partition) ? { partition } : {}),
      },
      { topic: letters, key, value: note },
    ];
  };

  const sendAgain = async (messages: Awaited<ReturnType<typeof messagesOf>>, { row, ...at }: StoredLetter) => {
    const group = `${letters}.sent.${row.topic}.${row.partition}.${row.offset}`;
    const producer = kafka.transactionalProducer(group);
    try {
      // Waits for the end of what another gateway has under way, or aborts it.
      await producer.initialise();
      const positions = await kafka.lag(group, letters);
      if (positions.some(({ committed }) => committed !== undefined))
        throw new LetterRefused("it was sent again already");
      const position = { partition: at.kafkaPartition, offset: String(at.kafkaOffset + 1), metadata: null };
      await producer.transact({
        ...{ group, member: noMember, messages },
        offsets: [{ topic: letters, partitions: [position] }],
      });
    } finally {
      await producer.close();
    }
  };

  return {
    list: (filter: LetterFilter): Promise<LetterRow[]> => readLetters(clickhouse, filter),
    /** null: there is none. */
    async read(key: LetterKey): Promise<Letter | null> {
      const found = await findLetter(clickhouse, key);
      if (found === null) return null;
      const { row, firstOffset, sourceTimestamp, value, valueBytes, fullBytes } = found;
      return {
        ...{ ...row, firstOffset, sourceTimestamp, fullBytes },
        key: textOf(found.key),
        value: textOf(value, valueBytes),
        headers: found.headers.map(([name, base64]) => ({ name, value: textOf(base64) })),
        record: await decoded(row.topic, value, fullBytes === null ? valueBytes : null),
      };
    },
    /** Rejects with LetterRefused if it was sent again already, or can't be. */
    async retry(key: LetterKey): Promise<LetterKey> {
      const found = await findLetter(clickhouse, key);
      if (found === null) throw new LetterRefused("the dead letter no longer exists");
      if (found.row.retriedAt !== null) throw new LetterRefused("it was sent again already");
      const record = recordOf(key.topic);
      if (record === undefined) throw new LetterRefused(`no stage reads the topic ${key.topic} now`);
      if (states.has(record))
        throw new LetterRefused(
          `it would take the place of what ${key.topic} has under its key since, or bring it back`,
        );
      try {
        await sendAgain(await messagesOf(await wholeLetter(found), key.stage), found);
      } catch (error) {
        if (error instanceof LetterRefused) throw error;
        throw new LetterRefused(`it is not known to be sent to ${key.topic}; ask again: ${messageOf(error)}`);
      }
      log.info({ ...key }, "a dead letter was sent to its topic again");
      return key;
    },
  };
}

/** Notes that a letter was sent again; it has none of the record's bytes. */
const retriedNote = (letter: DeadLetter, stage: string, now: number): DeadLetter => ({
  ...letter,
  ...{ key: null, value: null, headers: {}, headerList: [], fullBytes: null, fullSha256: null },
  ...{ stage: "gateway", code: RETRIED, reason: `sent to its topic again; ${stage} gave up on it`, createdAt: now },
});

/** Bytes within a record as base64. */
const plain = (_name: string, value: unknown): unknown => {
  const bytes = value as { type?: unknown; data?: unknown } | null;
  if (typeof value === "bigint") return String(value);
  return bytes !== null && typeof bytes === "object" && bytes.type === "Buffer" && Array.isArray(bytes.data)
    ? Buffer.from(bytes.data as number[]).toString("base64")
    : value;
};
