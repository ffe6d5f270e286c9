// Teaches kafkajs 2.2.4 what exactly-once by generation needs (KIP-447): TxnOffsetCommit v3, which
// carries member and generation so that the broker fences a zombie, and OffsetFetch v7 with
// require_stable, which waits for open transactions. Lower versions are taken away: a broker
// without these is refused with a clear error instead of served unsafely.
import { internals, type DecoderLike, type EncoderLike } from "./kafkajs-internals.ts";
import type { GroupMember, OffsetToCommit } from "./port.ts";
import { entries, entry, flexible, int32s, type Protocol } from "./protocol/codec.ts";

/** Topics of one TxnOffsetCommit; kafkajs passes the array and its property through. */
export type FencedTopics = { topic: string; partitions: OffsetToCommit[] }[] & { member?: GroupMember };

const { errors } = internals;

/** Generation that the coordinator gave each member of this process, recorded from SyncGroup. */
const generations = new Map<string, number>();
export const generationOf = (memberId: string): number | undefined => generations.get(memberId);
/** Called when a consumer is gone, so that the map stays small. */
export const forgetMember = (memberId: string): void => void generations.delete(memberId);

const throwOnFailure = (code: number): void => {
  if (errors.failure(code)) throw errors.createErrorFromCode(code);
};

function recordGenerations(): void {
  const sync = internals.requests<{ memberId: string; generationId: number }>("syncGroup");
  const original = sync.protocol;
  sync.protocol = (choice) => {
    const build = original(choice);
    return (options) => {
      generations.set(options.memberId, options.generationId);
      return build(options);
    };
  };
}

export interface TxnOffsetCommit {
  transactionalId: string;
  groupId: string;
  producerId: string;
  producerEpoch: number;
  topics: FencedTopics;
}

/** Version 3 has what KIP-447 needs; version 5 is written the same (KIP-890). */
export const txnOffsetCommit = (
  apiVersion: 3 | 5,
  { transactionalId, groupId, producerId, producerEpoch, topics }: TxnOffsetCommit,
): Protocol<TxnOffsetCommitAnswer> =>
  flexible(
    { apiKey: 28, apiVersion, apiName: "TxnOffsetCommit" },
    (body) =>
      body
        .writeUVarIntString(transactionalId)
        .writeUVarIntString(groupId)
        .writeInt64(producerId)
        .writeInt16(producerEpoch)
        .writeInt32(topics.member?.generation ?? -1)
        .writeUVarIntString(topics.member?.id ?? "")
        .writeUVarIntString(null) // group instance id
        .writeUVarIntArray(topics.map(({ topic, partitions }) => writeTopic(topic, partitions.map(writeOffset)))),
    (answer) => ({
      throttleTime: 0,
      clientSideThrottleTime: answer.readInt32(),
      codes: readTopics(answer, (d) => [d.readInt32(), d.readInt16()][1] ?? 0),
    }),
    ({ codes }) => {
      for (const { partitions } of codes) partitions.forEach(throwOnFailure);
    },
  );

const writeTopic = (topic: string, partitions: EncoderLike[]): EncoderLike =>
  entry((e) => e.writeUVarIntString(topic).writeUVarIntArray(partitions));

const writeOffset = ({ partition, offset, metadata }: OffsetToCommit): EncoderLike =>
  entry((e) =>
    e
      .writeInt32(partition)
      .writeInt64(offset)
      .writeInt32(-1) // leader epoch unknown
      .writeUVarIntString(metadata),
  );

const readTopics = <P>(answer: DecoderLike, read: (d: DecoderLike) => P): { topic: string; partitions: P[] }[] =>
  entries(answer, (d) => ({ topic: d.readUVarIntString() ?? "", partitions: entries(d, read) }));

interface TxnOffsetCommitAnswer {
  throttleTime: number;
  clientSideThrottleTime: number;
  codes: { topic: string; partitions: number[] }[];
}

const unstableOffsetCommit = 88;
/** In place of a committed offset that an open transaction is about to change. */
export const unstableOffset = "-2";

interface OffsetFetchResponse {
  errorCode: number;
  responses: { partitions: { errorCode: number; offset: string }[] }[];
}

interface OffsetFetch {
  groupId: string;
  topics?: { topic: string; partitions: { partition: number }[] }[];
}

const offsetFetchV7 = ({ groupId, topics = [] }: OffsetFetch): Protocol<OffsetFetchResponse> =>
  flexible(
    { apiKey: 9, apiVersion: 7, apiName: "OffsetFetch" },
    (body) => {
      body.writeUVarIntString(groupId);
      const asked = topics.map(({ topic, partitions }) =>
        writeTopic(topic, int32s(partitions.map(({ partition }) => partition))),
      );
      if (asked.length === 0) body.writeUVarInt(0);
      else body.writeUVarIntArray(asked);
      body.writeBoolean(true); // require_stable
    },
    (answer) => ({
      throttleTime: 0,
      clientSideThrottleTime: answer.readInt32(),
      responses: readTopics(answer, (d) => {
        const partition = d.readInt32();
        const offset = d.readInt64().toString();
        d.readInt32(); // leader epoch
        return { partition, offset, metadata: d.readUVarIntString(), errorCode: d.readInt16() };
      }),
      errorCode: answer.readInt16(),
    }),
    ({ errorCode, responses }) => {
      throwOnFailure(errorCode);
      for (const { partitions } of responses)
        for (const partition of partitions) {
          // Only these partitions have to wait: on a busy group there is nearly always some
          // partition with an open transaction.
          if (partition.errorCode === unstableOffsetCommit) partition.offset = unstableOffset;
          else throwOnFailure(partition.errorCode);
        }
    },
  );

export function patchFencing(): void {
  recordGenerations();
  const commit = internals.requests<TxnOffsetCommit>("txnOffsetCommit");
  commit.versions = ["3"];
  commit.protocol = atLeast(3, "TxnOffsetCommit", (options: TxnOffsetCommit) => txnOffsetCommit(3, options));
  const fetch = internals.requests<OffsetFetch>("offsetFetch");
  fetch.versions = ["7"];
  fetch.protocol = atLeast(7, "OffsetFetch", offsetFetchV7);
}

function atLeast<Arguments>(wanted: number, request: string, build: (options: Arguments) => unknown) {
  return ({ version }: { version: string | number }) => {
    if (Number(version) < wanted) {
      throw new Error(
        `the broker speaks ${request} only up to version ${String(version)}, exactly-once needs ${wanted}: use Kafka 2.5 or newer`,
      );
    }
    return build;
  };
}
