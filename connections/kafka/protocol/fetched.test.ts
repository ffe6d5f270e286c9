// Our reading of Fetch beside kafkajs' own: the same objects for whatever a broker may send, and
// never another answer for bytes that are damaged.
import { createRequire } from "node:module";
import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeFetched } from "./fetched.ts";

interface Writer {
  buffer: Buffer;
  writeInt8(value: number): Writer;
  writeInt16(value: number): Writer;
  writeInt32(value: number): Writer;
  writeInt64(value: string | bigint): Writer;
  writeVarInt(value: number): Writer;
  writeVarLong(value: number): Writer;
  writeVarIntBytes(value: Buffer | null): Writer;
  writeString(value: string | null): Writer;
  writeBytes(value: Buffer | null): Writer;
  writeBuffer(value: Buffer): Writer;
}
const require = createRequire(import.meta.url);
const Encoder = require("kafkajs/src/protocol/encoder") as new () => Writer;
const kafkajs = require("kafkajs/src/protocol/requests/fetch/v11/response") as {
  decode(raw: Buffer): Promise<unknown>;
};

interface Header {
  name: Buffer | null;
  value: Buffer | null;
}
interface Written {
  attributes: number;
  timestampDelta: number;
  /** Compaction leaves gaps. */
  offsetDelta: number;
  key: Buffer | null;
  value: Buffer | null;
  headers: Header[] | null;
}
interface Batch {
  firstOffset: bigint;
  epoch: number;
  attributes: number;
  firstTimestamp: bigint;
  maxTimestamp: bigint;
  producerId: bigint;
  producerEpoch: number;
  sequence: number;
  records: Written[];
}
interface Partition {
  partition: number;
  errorCode: number;
  offsets: [bigint, bigint, bigint];
  aborted: { producerId: bigint; firstOffset: bigint }[] | null;
  replica: number;
  batches: Batch[] | null;
  /** Bytes of the last batch that the broker leaves out. */
  cut: number;
}

function record({ attributes, timestampDelta, offsetDelta, key, value, headers }: Written): Buffer {
  const fields = new Encoder().writeInt8(attributes).writeVarLong(timestampDelta).writeVarInt(offsetDelta);
  fields.writeVarIntBytes(key).writeVarIntBytes(value);
  fields.writeVarInt(headers === null ? -1 : headers.length);
  for (const header of headers ?? []) fields.writeVarIntBytes(header.name).writeVarIntBytes(header.value);
  return fields.buffer;
}

function batchBytes(batch: Batch): Buffer {
  const body = new Encoder().writeInt32(batch.epoch).writeInt8(2).writeInt32(-559_038_737);
  body.writeInt16(batch.attributes).writeInt32(batch.records.at(-1)?.offsetDelta ?? 0);
  body.writeInt64(batch.firstTimestamp).writeInt64(batch.maxTimestamp).writeInt64(batch.producerId);
  body.writeInt16(batch.producerEpoch).writeInt32(batch.sequence).writeInt32(batch.records.length);
  for (const one of batch.records) body.writeVarIntBytes(record(one));
  return new Encoder().writeInt64(batch.firstOffset).writeBytes(body.buffer).buffer;
}

function partitionBytes(one: Partition): Buffer {
  const written = new Encoder().writeInt32(one.partition).writeInt16(one.errorCode);
  for (const offset of one.offsets) written.writeInt64(offset);
  written.writeInt32(one.aborted === null ? -1 : one.aborted.length);
  for (const { producerId, firstOffset } of one.aborted ?? []) written.writeInt64(producerId).writeInt64(firstOffset);
  written.writeInt32(one.replica);
  const whole = one.batches === null ? null : Buffer.concat(one.batches.map(batchBytes));
  return written.writeBytes(whole === null ? null : whole.subarray(0, Math.max(whole.length - one.cut, 0))).buffer;
}

function answerBytes(topics: { topic: string; partitions: Partition[] }[]): Buffer {
  const answer = new Encoder().writeInt32(7).writeInt16(0).writeInt32(0).writeInt32(topics.length);
  for (const { topic, partitions } of topics) {
    answer.writeString(topic).writeInt32(partitions.length);
    for (const one of partitions) answer.writeBuffer(partitionBytes(one));
  }
  return answer.buffer;
}

/** ASCII: a damaged length must not make kafkajs read billions of headers. */
const bytes = fc.uint8Array({ max: 127, maxLength: 200 }).map((values) => Buffer.from(values));
const field = fc.option(bytes);
const name = fc.option(
  fc.constantFrom("traceparent", "a", "a", "constructor", "é", "").map((text) => Buffer.from(text)),
);
const written: fc.Arbitrary<Written> = fc.record({
  attributes: fc.integer({ min: -128, max: 127 }),
  timestampDelta: fc.oneof(fc.constant(0), fc.integer({ min: -1000, max: 1000 }), fc.integer()),
  offsetDelta: fc.nat(10_000),
  key: field,
  value: field,
  headers: fc.option(fc.array(fc.record({ name, value: field }), { maxLength: 4 })),
});
const id = fc.oneof(fc.constant(-1n), fc.bigInt(0n, 5000n), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n));
const offset = fc.oneof(fc.bigInt(0n, 5_000n), fc.bigInt(0n, 2n ** 52n));
const batch: fc.Arbitrary<Batch> = fc.record({
  firstOffset: offset,
  epoch: fc.nat(100),
  // Appended, transactional, control.
  attributes: fc.constantFrom(0, 8, 16, 24, 48),
  firstTimestamp: fc.oneof(fc.constant(-1n), fc.bigInt(1_500_000_000_000n, 4_000_000_000_000n)),
  maxTimestamp: fc.bigInt(1_500_000_000_000n, 4_000_000_000_000n),
  producerId: id,
  producerEpoch: fc.integer({ min: -1, max: 32_767 }),
  sequence: fc.integer({ min: -1 }),
  records: fc.array(written, { maxLength: 4 }),
});
const partition = (cut: fc.Arbitrary<number>): fc.Arbitrary<Partition> =>
  fc.record({
    partition: fc.nat(1_000),
    errorCode: fc.constantFrom(0, 1, 6),
    offsets: fc.tuple(id, id, id),
    aborted: fc.option(fc.array(fc.record({ producerId: id, firstOffset: offset }), { maxLength: 3 })),
    replica: fc.integer({ min: -1, max: 5 }),
    batches: fc.option(fc.array(batch, { maxLength: 3 })),
    cut,
  });
const topics = (cut: fc.Arbitrary<number>) =>
  fc.array(fc.record({ topic: fc.string(), partitions: fc.array(partition(cut), { maxLength: 3 }) }), {
    maxLength: 3,
  });

test("reads what kafkajs reads", async () => {
  await fc.assert(
    fc.asyncProperty(topics(fc.constant(0)), async (sent) => {
      const raw = answerBytes(sent);
      expect(decodeFetched(raw)).toEqual(await kafkajs.decode(raw));
    }),
    { numRuns: 500 },
  );
});

test("an answer whose last batches are cut off holds those before, as with kafkajs", async () => {
  const [first, second] = fc.sample(batch, 2) as [Batch, Batch];
  for (let cut = 1; cut <= batchBytes(second).length; cut++) {
    const one = { partition: 0, errorCode: 0, offsets: [9n, 9n, 0n], aborted: null, replica: -1 } as const;
    const raw = answerBytes([
      { topic: "t", partitions: [{ ...one, offsets: [9n, 9n, 0n], batches: [first, second], cut }] },
    ]);
    const ours = decodeFetched(raw);
    expect(ours).toEqual(await kafkajs.decode(raw));
    expect(ours?.responses[0]?.partitions[0]?.messages).toHaveLength(first.records.length);
  }
});

test("of damaged bytes it says what kafkajs says, or nothing", async () => {
  await fc.assert(
    fc.asyncProperty(
      topics(fc.nat(300)),
      fc.option(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 }))),
      fc.option(fc.nat()),
      async (sent, flip, end) => {
        let raw = Buffer.from(answerBytes(sent));
        if (flip !== null) raw[flip[0] % raw.length]! ^= flip[1];
        if (end !== null) raw = raw.subarray(0, end % raw.length);
        const ours = decodeFetched(raw);
        if (ours !== undefined) expect(ours).toEqual(await kafkajs.decode(raw));
      },
    ),
    { numRuns: 2000 },
  );
});

test.each([
  ["a compressed batch", 22, 1],
  ["a message set", 16, 1],
])("leaves %s to kafkajs", (_what, offset, value) => {
  const [whole] = fc.sample(batch, 1) as [Batch];
  const raw = answerBytes([
    {
      topic: "t",
      partitions: [
        { partition: 0, errorCode: 0, offsets: [9n, 9n, 0n], aborted: null, replica: -1, batches: [whole], cut: 0 },
      ],
    },
  ]);
  expect(decodeFetched(raw)).toBeDefined();
  const at = raw.length - batchBytes(whole).length + offset;
  raw[at] = value;
  expect(decodeFetched(raw)).toBeUndefined();
});

test("keys and values are views of the answer: no bytes are copied", () => {
  const value = Buffer.alloc(1_000, 1);
  const [whole] = fc.sample(batch, 1) as [Batch];
  const records = [{ attributes: 0, timestampDelta: 0, offsetDelta: 0, key: value, value, headers: null }];
  const raw = answerBytes([
    {
      topic: "t",
      partitions: [
        {
          ...{ partition: 0, errorCode: 0, aborted: null, replica: -1, cut: 0 },
          ...{ offsets: [9n, 9n, 0n], batches: [{ ...whole, records }] },
        },
      ],
    },
  ]);
  const message = decodeFetched(raw)?.responses[0]?.partitions[0]?.messages[0];
  expect(message?.value?.buffer).toBe(raw.buffer);
  expect(message?.value).toEqual(value);
});
