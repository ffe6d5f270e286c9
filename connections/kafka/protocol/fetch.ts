// The body of Fetch 11, written once into bytes of the right size: kafkajs makes an encoder of
// half a kilobyte for each partition. Without a session, and of topics that exist.

export interface FetchBody {
  replicaId?: number;
  maxWaitTime: number;
  minBytes: number;
  maxBytes: number;
  /** 1, as by default: no record of an open transaction, or of one that was aborted. */
  isolationLevel?: number;
  topics: readonly {
    topic: string;
    partitions: readonly { partition: number; fetchOffset: string; maxBytes: number }[];
  }[];
  rackId?: string;
}

const readCommitted = 1;
const client = -1;
/** For the leader's epoch and the first offset of a follower's log, which a consumer omits. */
const unsaid = -1;
/** Replica, wait, bytes, isolation, session, its epoch, count of topics. */
const headBytes = 29;
const partitionBytes = 28;

export function encodeFetch({ topics, ...body }: FetchBody): Buffer {
  const { replicaId = client, isolationLevel = readCommitted, rackId = "" } = body;
  const rack = Buffer.from(rackId);
  const names = topics.map(({ topic }) => Buffer.from(topic));
  let size = headBytes + 4 + 2 + rack.length;
  topics.forEach(({ partitions }, index) => (size += 6 + names[index]!.length + partitions.length * partitionBytes));

  // Every byte of it is written below.
  const bytes = Buffer.allocUnsafe(size);
  let at = bytes.writeInt32BE(replicaId, 0);
  at = bytes.writeInt32BE(body.maxWaitTime, at);
  at = bytes.writeInt32BE(body.minBytes, at);
  at = bytes.writeInt32BE(body.maxBytes, at);
  at = bytes.writeInt8(isolationLevel, at);
  at = bytes.writeInt32BE(unsaid, bytes.writeInt32BE(0, at)); // no session, no epoch of one
  at = bytes.writeInt32BE(topics.length, at);
  topics.forEach(({ partitions }, index) => {
    const name = names[index]!;
    at = bytes.writeInt16BE(name.length, at);
    at += name.copy(bytes, at);
    at = bytes.writeInt32BE(partitions.length, at);
    for (const { partition, fetchOffset, maxBytes } of partitions) {
      at = bytes.writeInt32BE(unsaid, bytes.writeInt32BE(partition, at));
      at = writeInt64(bytes, at, fetchOffset);
      at = bytes.writeInt32BE(unsaid, bytes.writeInt32BE(unsaid, at));
      at = bytes.writeInt32BE(maxBytes, at);
    }
  });
  at = bytes.writeInt32BE(0, at); // no topics that a session would forget
  rack.copy(bytes, bytes.writeInt16BE(rack.length, at));
  return bytes;
}

function writeInt64(bytes: Buffer, at: number, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) return bytes.writeBigInt64BE(BigInt(text), at);
  const high = Math.floor(value / 2 ** 32);
  return bytes.writeUInt32BE(value - high * 2 ** 32, bytes.writeInt32BE(high, at));
}
