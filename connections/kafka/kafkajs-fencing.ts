// Teaches kafkajs 2.2.4 what exactly-once by generation needs (KIP-447): TxnOffsetCommit v3, which
// carries member and generation so that the broker fences a zombie, and OffsetFetch v7 with
// require_stable, which waits for open transactions. Lower versions are taken away: a broker
// without these is refused with a clear error instead of served unsafely.
import { internals, type DecoderLike, type RawRequest } from "./kafkajs-internals.ts";
import type { GroupMember, OffsetToCommit } from "./port.ts";
import { skipTags } from "./protocol/codec.ts";

/** Topics of one TxnOffsetCommit; kafkajs passes the array and its property through. */
export type FencedTopics = { topic: string; partitions: OffsetToCommit[] }[] & { member?: GroupMember };

const { Encoder, Decoder, errors } = internals;

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
  version: 3 | 5,
  { transactionalId, groupId, producerId, producerEpoch, topics }: TxnOffsetCommit,
): RawRequest<TxnOffsetCommitAnswer> => {
  const partition = (p: OffsetToCommit) =>
    new Encoder()
      .writeInt32(p.partition)
      .writeInt64(p.offset)
      .writeInt32(-1) // leader epoch unknown
      .writeUVarIntString(p.metadata)
      .writeUVarIntBytes();
  return {
    request: {
      apiKey: 28,
      apiVersion: version,
      apiName: "TxnOffsetCommit",
      encode: () =>
        Promise.resolve(
          new Encoder()
            .writeUVarIntBytes() // no tagged fields in the header
            .writeUVarIntString(transactionalId)
            .writeUVarIntString(groupId)
            .writeInt64(producerId)
            .writeInt16(producerEpoch)
            .writeInt32(topics.member?.generation ?? -1)
            .writeUVarIntString(topics.member?.id ?? "")
            .writeUVarIntString(null) // group instance id
            .writeUVarIntArray(
              topics.map((topic) =>
                new Encoder()
                  .writeUVarIntString(topic.topic)
                  .writeUVarIntArray(topic.partitions.map(partition))
                  .writeUVarIntBytes(),
              ),
            )
            .writeUVarIntBytes(),
        ),
    },
    response: {
      decode: (raw: Buffer) => {
        const decoder = new Decoder(raw);
        skipTags(decoder);
        const clientSideThrottleTime = decoder.readInt32();
        const codes = readTopics(decoder, (d) => {
          const code = [d.readInt32(), d.readInt16()][1] ?? 0;
          skipTags(d);
          return code;
        });
        return Promise.resolve({ throttleTime: 0, clientSideThrottleTime, codes });
      },
      parse: (data) => {
        for (const { partitions } of data.codes) partitions.forEach(throwOnFailure);
        return Promise.resolve(data);
      },
    },
  };
};

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

function offsetFetchV7({ groupId, topics }: OffsetFetch): unknown {
  const names = (topics ?? []).map((topic) =>
    new Encoder()
      .writeUVarIntString(topic.topic)
      .writeUVarIntArray(topic.partitions.map(({ partition }) => new Encoder().writeInt32(partition)))
      .writeUVarIntBytes(),
  );
  return {
    request: {
      apiKey: 9,
      apiVersion: 7,
      apiName: "OffsetFetch",
      encode: () => {
        const encoder = new Encoder().writeUVarIntBytes().writeUVarIntString(groupId);
        if (names.length === 0) encoder.writeUVarInt(0);
        else encoder.writeUVarIntArray(names);
        return Promise.resolve(encoder.writeBoolean(true).writeUVarIntBytes()); // require_stable
      },
    },
    response: {
      decode: (raw: Buffer) => {
        const decoder = new Decoder(raw);
        skipTags(decoder);
        const clientSideThrottleTime = decoder.readInt32();
        const responses = readTopics(decoder, (d) => {
          const partition = d.readInt32();
          const offset = d.readInt64().toString();
          d.readInt32(); // leader epoch
          const metadata = d.readUVarIntString();
          const errorCode = d.readInt16();
          skipTags(d);
          return { partition, offset, metadata, errorCode };
        });
        return Promise.resolve({ throttleTime: 0, clientSideThrottleTime, responses, errorCode: decoder.readInt16() });
      },
      parse: (data: OffsetFetchResponse) => {
        throwOnFailure(data.errorCode);
        for (const { partitions } of data.responses)
          for (const partition of partitions) {
            // Only these partitions have to wait: on a busy group there is nearly always some
            // partition with an open transaction.
            if (partition.errorCode === unstableOffsetCommit) partition.offset = unstableOffset;
            else throwOnFailure(partition.errorCode);
          }
        return Promise.resolve(data);
      },
    },
  };
}

function readTopics<P>(decoder: DecoderLike, read: (d: DecoderLike) => P): { topic: string; partitions: P[] }[] {
  return decoder.readUVarIntArray((d) => {
    const topic = d.readUVarIntString() ?? "";
    const partitions = d.readUVarIntArray(read);
    skipTags(d);
    return { topic, partitions };
  });
}

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
